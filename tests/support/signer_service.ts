/** A service that signs typed data over JSON-RPC, with libraries other than the project's. */
import { Wallet } from "ethers";
import { privateKeyToAccount } from "viem/accounts";
import { z } from "zod";
import { SIGNER_METHODS } from "../../lib/net/remote_signer.ts";
import type { Hex } from "../../lib/protocol/scalars.ts";
import { withAnswer } from "./http_answers.ts";

const typedDataSchema = z.object({
  domain: z.object({ name: z.string(), version: z.string(), chainId: z.number() }),
  types: z.record(z.string(), z.array(z.object({ name: z.string(), type: z.string() }))),
  primaryType: z.string(),
  message: z.record(z.string(), z.unknown()),
});
const callSchema = z.object({
  method: z.enum(SIGNER_METHODS),
  params: z.tuple([z.string(), z.unknown()]),
});
/** What a service is asked to sign. */
export type SignerCall = z.output<typeof callSchema>;

/** The typed data of a call: an object, or for wallets its text. */
function typedDataIn({ method, params: [, data] }: SignerCall) {
  if (method !== "eth_signTypedData_v4") return typedDataSchema.parse(data);
  return typedDataSchema.parse(JSON.parse(z.string().parse(data)));
}

export const SIGNERS = {
  ethers: (privateKey: Hex, call: SignerCall) => {
    const { domain, types, message } = typedDataIn(call);
    const { EIP712Domain: _, ...own } = types; // ethers makes it itself
    return new Wallet(privateKey).signTypedData(domain, own, message);
  },
  viem: (privateKey: Hex, call: SignerCall) =>
    privateKeyToAccount(privateKey).signTypedData(typedDataIn(call)),
};

/** Runs a test with such a service, which answers with the members that `answer` returns. */
export function withSignerService(
  answer: (call: SignerCall) => Promise<unknown>,
  test: (url: string) => Promise<void>,
): Promise<void> {
  return withAnswer(async (request) => {
    const call = callSchema.parse(await request.json());
    return Response.json({ jsonrpc: "2.0", id: 1, ...Object(await answer(call)) });
  }, test);
}
