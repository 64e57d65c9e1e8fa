import assert from "node:assert/strict";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { options } from "../../services/bridge/mod.ts";
import { post } from "../support/http_answers.ts";
import { eventually } from "../support/eventually.ts";
import {
  effectsOfListening,
  everyOption,
  listening,
  RATE_LIMITS,
  refusalsOfTen,
  writeKeystore,
} from "../support/every_option.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { FakeNode } from "../support/fake_node.ts";
import { type SignerCall, SIGNERS, withSignerService } from "../support/signer_service.ts";
import { withFolder } from "../support/files.ts";
import { relayer, signedRequest, startTestBridge, user } from "./support.ts";

const CHAIN_ID = 4_242;

Deno.test(
  "Bridge: every option has its effect",
  everyOption(options, (observe) =>
    withFolder(async (folder) => {
      await using node = FakeNode.start(CHAIN_ID);
      const clock = new FakeClock(Date.now());
      const values = {
        ...listening(),
        rpcUrl: node.url,
        privateKey: undefined,
        ...await writeKeystore(folder, DEV_ACCOUNTS.solver.privateKey),
        chainId: CHAIN_ID,
        database: `${folder}/intents.sqlite`,
        retain: 120_000,
      };
      await using running = await startTestBridge(node.url, values, clock);
      const { url } = running;
      const request = signedRequest({}, { chainId: CHAIN_ID });
      const { status } = await post(`${url}/deposit`, request);
      const isKeystores = async () =>
        assert.equal(await depositorOf(url), DEV_ACCOUNTS.solver.address);
      await observe(values, {
        ...effectsOfListening(url, values, "/info"),
        rpcUrl: () => assert.equal(node.received.length, 1),
        keystore: isKeystores,
        keystorePasswordFile: isKeystores,
        chainId: () => assert.equal(status, 200),
        database: async () => assert((await Deno.stat(values.database)).size > 0),
        retain: async () => {
          const deposit = `${url}/deposits/${user.address}/1`;
          node.aheadMs += values.retain + 600_000; // old by the chain's time
          clock.advance(60_000 + values.retain - 10_000);
          assert.equal(await statusOf(deposit), 200);
          await eventually("the deposit is deleted", async () => {
            clock.advance(10_000);
            return await statusOf(deposit) === 404;
          }, 5_000);
          node.aheadMs = 0;
        },
      });
      for (const { given: limits, refused } of RATE_LIMITS) {
        const values = { ...limits, privateKey: relayer };
        await using running = await startTestBridge(node.url, values);
        const { url } = running;
        const counted = await refusalsOfTen(url, `/deposits/${user.address}`);
        const isLimited = () => assert.deepEqual(counted, refused);
        await observe(values, {
          privateKey: async () => assert.equal(await depositorOf(url), relayer.address),
          rateLimit: isLimited,
          trustProxy: isLimited,
          rateLimitTotal: isLimited,
        });
      }
      const calls: SignerCall[] = [];
      const { address, privateKey } = DEV_ACCOUNTS.solver;
      await withSignerService(async (call) => {
        calls.push(call);
        return { result: await SIGNERS.ethers(privateKey, call) };
      }, async (signerUrl) => {
        const values = {
          privateKey: undefined,
          signerUrl,
          signerAddress: address,
          signerMethod: "account_signTypedData" as const,
        };
        await using running = await startTestBridge(node.url, { ...values, chainId: CHAIN_ID });
        const { url } = running;
        const request = signedRequest({ nonce: 7n }, { chainId: CHAIN_ID });
        const { status } = await post(`${url}/deposit`, request);
        await observe(values, {
          signerUrl: () => assert.deepEqual([status, calls.length], [200, 1]),
          signerAddress: async () => assert.equal(await depositorOf(url), address),
          signerMethod: () => assert.equal(calls[0]?.method, values.signerMethod),
        });
      });
    })),
);

async function depositorOf(url: string): Promise<unknown> {
  return (await (await fetch(`${url}/info`)).json()).bridge;
}

async function statusOf(url: string): Promise<number> {
  const { status, body } = await fetch(url);
  await body?.cancel();
  return status;
}
