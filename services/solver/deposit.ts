/** `rangemaker solver deposit`: money for the account of a solver's key. */
import { createCommand, ExitCode } from "../../lib/cli/command.ts";
import { openLocalSigner } from "../../lib/cli/keystore.ts";
import * as kinds from "../../lib/cli/option_kinds.ts";
import { optionTable } from "../../lib/cli/options.ts";
import { REQUEST_LIFE_MS } from "../../lib/client/bet.ts";
import { toWire } from "../../lib/json.ts";
import { callJson, ServiceError } from "../../lib/net/call_json.ts";
import { depositAnswerSchema } from "../../lib/protocol/answers.ts";
import { randomNonce } from "../../lib/protocol/deposit.ts";
import { hashDepositRequest } from "../../lib/protocol/hashes.ts";
import { usdcText } from "../../lib/protocol/price.ts";
import { options as solverOptions } from "./options.ts";

const { privateKey, keystore, keystorePasswordFile, chainId } = solverOptions;

const options = optionTable({
  bridgeUrl: {
    kind: kinds.httpUrl,
    required: true,
    description: "URL of the bridge",
  },
  amount: {
    kind: kinds.positiveAmount,
    required: true,
    description: "USDC with 6 decimals: 1000000 is 1 USDC",
  },
  nonce: {
    kind: kinds.nonce,
    description: "nonce that an earlier run has printed: repeats that deposit, which is made once",
  },
  privateKey,
  keystore,
  keystorePasswordFile,
  chainId,
});

/** The `solver deposit` subcommand: signs a deposit with the solver's key for the bridge. */
export const run = createCommand({
  name: "solver deposit",
  description: "Deposits USDC for the account of the solver's key, by the bridge.",
  options,
  examples: [[
    "rangemaker solver deposit --bridge-url http://localhost:3001 --amount 500000000",
    "500 USDC for the key in SOLVER_PRIVATE_KEY",
  ]],
  async run({ bridgeUrl, amount, nonce = randomNonce(), chainId, ...key }, { clock, print }) {
    const signer = await openLocalSigner(key, options);
    const deadline = clock.now() + REQUEST_LIFE_MS;
    const request = { user: signer.address, amount, nonce, deadline };
    const signature = signer.sign(hashDepositRequest(request, chainId));
    const body = toWire({ ...request, signature });
    const url = new URL("deposit", bridgeUrl.endsWith("/") ? bridgeUrl : `${bridgeUrl}/`);
    print(`To repeat this deposit, which is made once only: --nonce ${nonce}`);
    try {
      const { txHash } = await callJson(url.href, depositAnswerSchema, body);
      print(`${usdcText(amount)} for ${signer.address}, transaction ${txHash}`);
    } catch (thrown) {
      if (!(thrown instanceof ServiceError) || thrown.code !== "NONCE_USED") throw thrown;
      const isDone = thrown.details["state"] === "committed" &&
        thrown.details["amount"] === `${amount}`;
      if (!isDone) throw thrown;
      print(thrown.message);
    }
    return ExitCode.ok;
  },
});
