/** A remote signer: a service that signs typed data over JSON-RPC, such as Web3Signer or Clef. */
import { z } from "zod";
import { RangemakerError } from "../errors.ts";
import { tryParseJson } from "../json.ts";
import {
  type Address,
  anySignatureSchema,
  type Hex,
  normalizeSignature,
} from "../protocol/scalars.ts";
import { requireSigner, SignatureError } from "../protocol/signature.ts";
import { TRANSACTION_TYPES, type UnsignedTransaction } from "../protocol/transaction.ts";
import { typedDataOf } from "../protocol/typed_data.ts";
import { redactUrls } from "../redact.ts";
import { NetworkError, request } from "./http_request.ts";

/**
 * Methods that sign typed data. Web3Signer has the first one only; Clef has the second and asks a
 * person unless a rule approves; wallets have the third.
 */
export const SIGNER_METHODS = [
  "eth_signTypedData",
  "account_signTypedData",
  "eth_signTypedData_v4",
] as const;

/** One of {@link SIGNER_METHODS}. */
export type SignerMethod = (typeof SIGNER_METHODS)[number];

/** Timeout of a signer that works without a person. */
const ANSWER_MS = 5_000;

/** Most open requests, so that they do not pile up at a signer that is slower than its callers. */
const OPEN_REQUESTS_MAX = 32;

/** A signature, or JSON-RPC's error. */
const answerSchema = z.union([
  z.object({ result: anySignatureSchema }),
  z.object({ error: z.object({ code: z.number(), message: z.string() }) }),
]);

/** The signer did not sign, or not as it was asked to; the same request may succeed later. */
export class RemoteSignerError extends RangemakerError {
  constructor(message: string, cause?: unknown) {
    super("SIGNER_UNAVAILABLE", redactUrls(message), { cause, retry: "later" });
  }
}

interface RemoteSignerOptions {
  url: string;
  address: Address;
  method: SignerMethod;
  timeoutMs?: number;
}

/** Signs transactions through a service. Every signature is checked before it is used. */
export class RemoteSigner {
  readonly address: Address;
  readonly #options: RemoteSignerOptions;
  #openRequests = 0;

  constructor(options: RemoteSignerOptions) {
    this.address = options.address;
    this.#options = options;
  }

  /**
   * Signs a transaction.
   *
   * @param digest Of `tx`: what the signature must sign.
   * @throws {RemoteSignerError} If no answer comes in time, or none signed by the address.
   */
  async sign(digest: Hex, tx: UnsignedTransaction, chainId: number): Promise<Hex> {
    const { url } = this.#options;
    if (this.#openRequests >= OPEN_REQUESTS_MAX) {
      throw new RemoteSignerError(`Signer ${url} is busy: ${OPEN_REQUESTS_MAX} requests are open`);
    }
    this.#openRequests += 1;
    try {
      const { type, ...message } = tx;
      const typedData = typedDataOf(TRANSACTION_TYPES[type], chainId, message);
      const signature = normalizeSignature(await this.#ask(typedData));
      requireSigner("Signature of the remote signer", digest, signature, this.address);
      return signature;
    } catch (thrown) {
      if (thrown instanceof NetworkError || thrown instanceof SignatureError) {
        throw new RemoteSignerError(`Signer ${url}: ${thrown.message}`, thrown);
      }
      throw thrown;
    } finally {
      this.#openRequests -= 1;
    }
  }

  async #ask(typedData: object): Promise<Hex> {
    const { url, method, address, timeoutMs = ANSWER_MS } = this.#options;
    // Wallets expect JSON text, other signers the object.
    const data = method === "eth_signTypedData_v4" ? JSON.stringify(typedData) : typedData;
    const json = { jsonrpc: "2.0", id: 1, method, params: [address, data] };
    const { status, text } = await request(url, { json, timeoutMs });
    const answer = answerSchema.safeParse(tryParseJson(text)).data;
    if (answer === undefined) {
      throw new RemoteSignerError(`Signer ${url} gave no signature: status ${status}`);
    }
    if ("error" in answer) {
      const { code, message } = answer.error;
      throw new RemoteSignerError(`Signer ${url} refused ${method}: ${code}: ${message}`);
    }
    return answer.result;
  }
}
