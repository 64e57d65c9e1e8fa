import * as z from "zod/mini";
import {
  addressSchema,
  described,
  type Hex,
  signatureSchema,
  timestampSchema,
  uint64Schema,
} from "./scalars.ts";
import { toWire } from "../json.ts";
import { type Bet, betOf, betShape } from "./bet.ts";
import { type FlatType, parseFlatType } from "./typed_data.ts";

const deadlineSchema = described(
  timestampSchema,
  "The quote can be executed until then, Unix milliseconds",
);

/** Body of `POST /quote` (spec: quote solver, "Quote request"). */
export const quoteRequestSchema = described(
  z.object({
    user: described(addressSchema, "The user who bets"),
    ...betShape,
    deadline: deadlineSchema,
  }),
  { id: "QuoteRequest" },
);

export type QuoteRequest = z.output<typeof quoteRequestSchema>;

/** The message that solver and user sign: the bet, its payout and its deadline. */
export interface UnsignedQuote extends Bet {
  solver: QuoteRequest["user"];
  user: QuoteRequest["user"];
  /** Total payout in USDC if the user wins, 6 decimals. */
  payout: bigint;
  deadline: number;
}

/** A quote with the solver's signature over the quote hash (`hashQuote`). */
export interface Quote extends UnsignedQuote {
  signature: Hex;
}

const { thesisType, base, quote, lowerPrice, upperPrice, ...plainFields } = betShape;

/** The quote object on the wire nests pair and range (spec: quote solver, "Quote"). */
const quoteWireSchema = z.object({
  solver: described(addressSchema, "The solver that offers the bet"),
  user: addressSchema,
  thesisType,
  oraclePair: z.object({ base, quote }),
  priceRange: z.object({ lower: lowerPrice, upper: upperPrice }),
  ...plainFields,
  payout: described(uint64Schema, "Total payout in USDC if the user wins, 6 decimals"),
  deadline: deadlineSchema,
  signature: signatureSchema,
}).register(z.globalRegistry, {
  id: "Quote",
  description: "A quote with the solver's signature over the quote hash",
});

/** Parses a signed quote object. */
export const quoteSchema = z.pipe(
  quoteWireSchema,
  z.transform((wire: z.output<typeof quoteWireSchema>): Quote => flatten(wire)),
);

/** A received quote, which may lack its solver. */
type ReceivedQuote = Omit<Quote, "solver"> & Partial<Pick<Quote, "solver">>;

/** Parses the quote object of `POST /execute`, which may leave out the solver. */
export const receivedQuoteSchema = z.pipe(
  described(z.partial(quoteWireSchema, { solver: true }), {
    id: "ReceivedQuote",
    description: "A quote; without `solver`, it counts as this solver's own",
  }),
  z.transform((wire): ReceivedQuote => flatten(wire)),
);

/** A quote in JSON form. */
export type QuoteWire = z.input<typeof quoteSchema>;

/** Moves pair and range up, to the other fields. */
function flatten<
  T extends {
    oraclePair: Pick<Bet, "base" | "quote">;
    priceRange: { lower: bigint; upper: bigint };
  },
>(wire: T) {
  const { oraclePair, priceRange, ...rest } = wire;
  return { ...rest, ...oraclePair, lowerPrice: priceRange.lower, upperPrice: priceRange.upper };
}

/** The quote as JSON: pair and range nested, amounts and prices as decimal strings. */
export function quoteToWire(quote: Quote): QuoteWire {
  return toWire({
    solver: quote.solver,
    user: quote.user,
    thesisType: quote.thesisType,
    oraclePair: { base: quote.base, quote: quote.quote },
    priceRange: { lower: quote.lowerPrice, upper: quote.upperPrice },
    betAmount: quote.betAmount,
    payout: quote.payout,
    startTime: quote.startTime,
    endTime: quote.endTime,
    deadline: quote.deadline,
    signature: quote.signature,
  });
}

/** The type of the signed message; `GET /typed-data` of the solver describes it to wallets. */
export const QUOTE_TYPE: FlatType = parseFlatType(
  "Core:Quote(address solver,address user,string thesisType,address base,address quote,uint256 lowerPrice,uint256 upperPrice,uint256 betAmount,uint256 payout,uint256 startTime,uint256 endTime,uint256 deadline)",
);

/** The message that is signed, in one flat struct. */
export function quoteMessage(quote: UnsignedQuote): Record<string, unknown> {
  const { solver, user, payout, deadline } = quote;
  const { startTime, endTime, ...bet } = betOf(quote);
  return {
    solver,
    user,
    ...bet,
    payout,
    startTime: BigInt(startTime),
    endTime: BigInt(endTime),
    deadline: BigInt(deadline),
  };
}
