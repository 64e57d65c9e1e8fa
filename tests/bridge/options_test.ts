import assert from "node:assert/strict";
import { encryptKeystoreJson, Wallet } from "ethers";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { options } from "../../services/bridge/mod.ts";
import { post } from "../support/envelope.ts";
import { eventually } from "../support/eventually.ts";
import { assertAllowsPage, PAGE, refusalsOfTen, testEveryOption } from "../support/every_option.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { FakeNode } from "../support/fake_node.ts";
import { freePort } from "../support/ports.ts";
import { withFolder } from "../support/with_folder.ts";
import { relayer, signedRequest, startTestBridge, user } from "./support.ts";

const CHAIN_ID = 4_242;

testEveryOption("Bridge", options, (observe) =>
  withFolder(async (folder) => {
    const node = FakeNode.start(CHAIN_ID);
    const places: string[] = [];
    const { error } = console;
    console.error = (line: string) => places.push(line);
    const { privateKey } = DEV_ACCOUNTS.solver;
    const scrypt = { N: 1024, r: 8, p: 1 };
    const keystore = await encryptKeystoreJson(new Wallet(privateKey), "a secret", { scrypt });
    await Deno.writeTextFile(`${folder}/key.json`, keystore);
    await Deno.writeTextFile(`${folder}/password`, "a secret\n");
    const clock = new FakeClock(Date.now());
    const stored = {
      port: freePort(),
      host: "127.0.0.2",
      corsOrigins: [PAGE],
      rpcUrl: node.url,
      privateKey: undefined,
      keystore: `${folder}/key.json`,
      keystorePasswordFile: `${folder}/password`,
      chainId: CHAIN_ID,
      database: `${folder}/intents.sqlite`,
      retain: 120_000,
      faultPoint: "trace",
    };
    const bridge = await startTestBridge(node.url, stored, clock);
    try {
      const request = signedRequest({}, { chainId: CHAIN_ID });
      const { status } = await post(`${bridge.url}/deposit`, request);
      const isKeystores = async () =>
        assert.equal(await depositorOf(bridge.url), DEV_ACCOUNTS.solver.address);
      await observe(stored, {
        port: () => assert.equal(new URL(bridge.url).port, String(stored.port)),
        host: () => assert.equal(new URL(bridge.url).hostname, "127.0.0.2"),
        corsOrigins: () => assertAllowsPage(`${bridge.url}/info`),
        rpcUrl: () => assert.equal(node.received.length, 1),
        keystore: isKeystores,
        keystorePasswordFile: isKeystores,
        chainId: () => assert.equal(status, 200),
        database: async () => assert((await Deno.stat(stored.database)).size > 0),
        faultPoint: () => assert(places.includes("Fault point store.insert:after")),
        retain: async () => {
          const deposit = `${bridge.url}/deposits/${user.address}/1`;
          clock.advance(60_000 + stored.retain - 10_000);
          assert.equal(await statusOf(deposit), 200);
          await eventually("the deposit is deleted", async () => {
            clock.advance(10_000);
            return await statusOf(deposit) === 404 || undefined;
          }, 5_000);
          assert(clock.now() < Date.now() + 3_600_000);
        },
      });
    } finally {
      await bridge.stop();
      console.error = error;
    }
    const limits = [
      {
        given: { privateKey: relayer, rateLimit: 2, trustProxy: false },
        refused: { address: 4, connection: 0, total: 0 },
      },
      { given: { rateLimitTotal: 1 }, refused: { address: 0, connection: 0, total: 7 } },
    ];
    for (const { given, refused } of limits) {
      const { url, stop } = await startTestBridge(node.url, given);
      try {
        const counted = await refusalsOfTen(url, `/deposits/${user.address}`);
        const isLimited = () => assert.deepEqual(counted, refused);
        await observe(given, {
          privateKey: async () => assert.equal(await depositorOf(url), relayer.address),
          rateLimit: isLimited,
          trustProxy: isLimited,
          rateLimitTotal: isLimited,
        });
      } finally {
        await stop();
      }
    }
    await node.stop();
  }));

async function depositorOf(url: string): Promise<unknown> {
  return (await (await fetch(`${url}/info`)).json()).bridge;
}

async function statusOf(url: string): Promise<number> {
  const { status, body } = await fetch(url);
  await body?.cancel();
  return status;
}
