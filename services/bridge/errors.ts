/** The error codes of the bridge: their texts, and how they are answered. */
import { createErrors } from "../../lib/errors.ts";
import { INTENT_ERRORS } from "../../lib/intents/error_answers.ts";
import type { IntentFailure, IntentState } from "../../lib/intents/intent.ts";
import type { Address, Hex } from "../../lib/protocol/scalars.ts";
import type { ErrorAnswers } from "../../lib/http/error_answers.ts";
import { usdcText } from "../../lib/protocol/price.ts";

const describe = ({ code, message }: IntentFailure) => `${code}: ${message}`;

/** An error of the bridge: text and `details` are made from the same facts. */
export const bridgeError = createErrors({
  DEADLINE_PASSED: ({ deadline, lateMs }: { deadline: number; lateMs: number }) =>
    `Deposit request expired: its deadline ${deadline} (Unix milliseconds) passed ` +
    `${lateMs} ms ago; ` +
    "sign it again with the same nonce and a later deadline, which credits nothing twice",
  NOT_FOUND: ({ user, nonce }: { user: Address; nonce: bigint }) =>
    `No deposit of ${user} has nonce ${nonce}: GET /deposits/${user} lists the user's deposits`,
  PERMISSION_DENIED: ({ relayer, url }: { relayer: Address; url: string }) =>
    `Core node at ${url} does not grant ${relayer} the relayer permission: nothing was recorded; ` +
    "the same request works once the operator has granted it",
  /** Describes the first deposit with this nonce, since its answer may have been lost. */
  NONCE_USED: (
    { user, nonce, amount, state, txHash, reason }: {
      user: Address;
      nonce: bigint;
      amount: bigint;
      state: IntentState;
      txHash: Hex | null;
      reason: IntentFailure | null;
    },
  ) =>
    `Nonce ${nonce} of ${user} is used${txHash === null ? "" : ` by transaction ${txHash}`}: ` +
    `deposit of ${usdcText(amount)} is ${state}` +
    `${reason === null ? "" : ` (${describe(reason)})`}; sign another nonce for another deposit`,
});

/** How each error code of the bridge is answered. */
export const BRIDGE_ERRORS = {
  ...INTENT_ERRORS,
  NONCE_USED: { status: 409, retry: "never" },
  // The signer at --signer-url; nothing was recorded.
  SIGNER_UNAVAILABLE: { status: 503, retry: "later" },
  // Before anything is recorded, or the node's final answer about the deposit transaction.
  PERMISSION_DENIED: { status: 503, retry: "never" },
  // The node's final answer about the deposit transaction.
  TRANSACTION_FAILED: {
    status: 503,
    retry: "never",
    advice: "this is final, send a new request once the cause is fixed",
  },
} as const satisfies ErrorAnswers;
