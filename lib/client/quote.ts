import * as z from "zod/mini";
import { callJson } from "../net/call_json.ts";
import { quoteAnswerSchema, solverHealthSchema } from "../protocol/answers.ts";
import { hash32Schema } from "../protocol/scalars.ts";
import { type Bet, type Estimate, pricedEstimateSchema, termsOf } from "./bet.ts";
import { type Context, requireNodeChain, requireServiceChain, walletOf } from "./context.ts";
import { isRangemakerError } from "./errors.ts";
import { checkOffer, checkTerms, type Offer } from "./offer.ts";

/** The part of the solver's health that counts here: who it is. */
const identitySchema = z.pick(solverHealthSchema, { solver: true });

const quoteWithHashSchema = z.extend(quoteAnswerSchema, { quoteHash: hash32Schema });

/** Asks what a bet would pay. */
export async function estimate(
  { urls, clock, markets }: Context,
  bet: Bet,
  signal: AbortSignal | undefined,
): Promise<Estimate> {
  const terms = termsOf(bet, clock.now(), markets);
  return await callJson(`${urls.solver}/estimate`, pricedEstimateSchema, terms, { signal });
}

/** Asks for a quote, and checks it against the request, its hash and the solver's signature. */
export async function quote(context: Context, bet: Bet): Promise<Offer> {
  const { urls: { solver: url }, chainId, clock, markets } = context;
  const terms = termsOf(bet, clock.now(), markets);
  const request = { user: await walletOf(context).address(), ...terms };
  const [{ quote, quoteHash }, solver] = await Promise.all([
    callJson(`${url}/quote`, quoteWithHashSchema, request),
    context.solver ?? callJson(`${url}/health`, identitySchema).then(({ solver }) => solver),
    requireNodeChain(context),
  ]);
  checkTerms(quote, request);
  try {
    checkOffer({ quote, quoteHash }, chainId, solver);
  } catch (thrown) {
    // A quote for another chain has another hash: the solver says which chain it signs for.
    if (isRangemakerError(thrown, "QUOTE_HASH_MISMATCH")) {
      await requireServiceChain(context, "solver");
    }
    throw thrown;
  }
  return { quote, quoteHash };
}
