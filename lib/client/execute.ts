import { callJson } from "../net/call_json.ts";
import { executeAnswerSchema } from "../protocol/answers.ts";
import { quoteToWire } from "../protocol/quote.ts";
import type { Hex } from "../protocol/scalars.ts";
import { type Context, requireNodeChain, walletOf } from "./context.ts";
import { ExecutionError } from "./errors.ts";
import { requireOffer } from "./input.ts";
import { checkOffer, type Offer, quoteTypedData } from "./offer.ts";

/** A bet that the chain took. */
export interface Execution {
  thesisId: number;
  txHash: Hex;
}

/** Checks an offer again, and has the wallet sign it. */
export async function sign(context: Context, offer: Offer): Promise<Hex> {
  requireOffer(offer);
  const { quote } = offer;
  const { chainId, solver = quote.solver } = context;
  const wallet = walletOf(context);
  await requireNodeChain(context);
  checkOffer(offer, chainId, solver);
  return await wallet.sign(quote.user, quoteTypedData(quote, chainId));
}

/** Has the solver execute an offer. */
export async function execute(
  context: Context,
  offer: Offer,
  signature: Hex | undefined,
): Promise<Execution> {
  requireOffer(offer);
  const userSignature = signature ?? await sign(context, offer);
  const body = { quote: quoteToWire(offer.quote), userSignature };
  const { result } = await callJson(`${context.urls.solver}/execute`, executeAnswerSchema, body);
  const { status, txHash, thesisId, error } = result;
  if (status === "committed" && thesisId !== undefined) return { thesisId, txHash };
  const message = `The chain refused the bet: ${error?.message ?? "no reason was given"}`;
  throw new ExecutionError(error?.code ?? "TRANSACTION_FAILED", message, {
    details: { ...error?.details, txHash },
  });
}
