/**
 * Many clients deposit through two bridges on one PostgreSQL while one of them is killed and
 * restarted: exactly the signed deposits are credited. `DEPOSITS` in the environment sets their
 * number; use 10,000 before a release.
 */
import assert from "node:assert/strict";
import type { RandomSource } from "../../lib/random.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { LocalSigner } from "../../lib/protocol/signature.ts";
import { signedRequest } from "../bridge/support.ts";
import {
  kill,
  type ServiceProcess,
  type Started,
  startServiceProcess,
} from "../support/killed_process.ts";
import { post } from "../support/http_answers.ts";
import { eventually } from "../support/eventually.ts";
import { FakeNode } from "../support/fake_node.ts";
import { NEEDS_POSTGRES, POSTGRES_URL, withSchema } from "../support/postgres.ts";
import { casesFrom, withSeed } from "../support/random.ts";

const DEPOSITS = casesFrom("DEPOSITS", 3_000);
const CLIENTS = 200;
const USERS = 50;

type Request = ReturnType<typeof signedRequest>;

/** What the clients send: two thirds new requests, one third requests that were sent before. */
function workload(random: RandomSource): { posts: Request[]; signed: Map<string, bigint> } {
  const users = Array.from(
    { length: USERS },
    (_, index) => new LocalSigner(`0x${(index + 1).toString(16).padStart(64, "0")}`),
  );
  const posts: Request[] = [];
  const fresh: Request[] = [];
  const signed = new Map<string, bigint>();
  const deadline = Date.now() + 600_000;
  for (let index = 0; index < DEPOSITS; index += 1) {
    const again = fresh[Math.floor(random() * fresh.length)];
    if (index % 3 === 2 && again !== undefined) {
      posts.push(again);
      continue;
    }
    const signer = users[Math.floor(random() * USERS)] ?? assert.fail("There are users");
    const amount = 1n + BigInt(Math.floor(random() * 1e9));
    const request = signedRequest(
      { user: signer.address, amount, nonce: BigInt(index), deadline },
      { signer },
    );
    fresh.push(request);
    posts.push(request);
    signed.set(signer.address, (signed.get(signer.address) ?? 0n) + amount);
  }
  return { posts, signed };
}

/** Two bridges behind one address, as a client sees them: a dead one is left for the other. */
class Pair {
  readonly urls: (string | undefined)[];
  #turn = 0;

  constructor(urls: string[]) {
    this.urls = urls;
  }

  /** Sends until the answer is that the nonce is used or the deposit committed. */
  async deposit(request: Request): Promise<void> {
    for (;;) {
      const url = this.urls[this.#turn++ % this.urls.length];
      if (url === undefined) continue;
      // A connection that died with its bridge has no answer: the client asks again.
      const answer = await post(`${url}/deposit`, request).catch(() => undefined);
      if (answer?.status === 200 || answer?.status === 409) return;
      assert.ok([undefined, 503, 504].includes(answer?.status), JSON.stringify(answer));
    }
  }
}

/** Bridges that still have something pending by then will keep it. */
const FINAL_WITHIN_MS = 30_000;

async function untilNonePending(url: string): Promise<void> {
  await eventually("a final state of every deposit", async () => {
    const text = await (await fetch(`${url}/metrics`)).text();
    return /^bridge_deposits_pending 0$/m.test(text);
  }, FINAL_WITHIN_MS);
}

Deno.test({
  name:
    `Bridge: two bridges on one PostgreSQL, one killed: each deposit of ${CLIENTS} clients is credited once${NEEDS_POSTGRES}`,
  ignore: POSTGRES_URL === undefined,
  timeout: 60_000 + 40 * DEPOSITS,
  fn: () =>
    withSeed((random) =>
      withSchema(async (database) => {
        const node = FakeNode.start();
        const service: ServiceProcess = {
          args: [
            "bridge",
            "--port=0",
            `--rpc-url=${node.url}`,
            `--database=${database}`,
            "--rate-limit=0",
            "--rate-limit-total=0",
          ],
          env: { BRIDGE_PRIVATE_KEY: DEV_ACCOUNTS.relayer.privateKey },
        };
        const bridges: Started[] = await Promise.all([
          startServiceProcess(service),
          startServiceProcess(service),
        ]);
        try {
          const pair = new Pair(bridges.map(({ url }) => url));
          const { posts, signed } = workload(random);
          let next = 0;
          const client = async () => {
            for (let post = posts[next++]; post !== undefined; post = posts[next++]) {
              await pair.deposit(post);
            }
          };
          const until = async (share: number) => {
            while (node.received.length < DEPOSITS * share) await node.nextTransaction();
          };
          const killer = async () => {
            await until(0.2);
            pair.urls[0] = undefined;
            await kill(bridges[0] ?? assert.fail("There are two bridges"));
            await until(0.4);
            bridges[0] = await startServiceProcess(service);
            pair.urls[0] = bridges[0].url;
          };
          await Promise.all([killer(), ...Array.from({ length: CLIENTS }, client)]);
          for (const { url } of bridges) await untilNonePending(url);
          assert.deepEqual(new Map([...node.credited].sort()), new Map([...signed].sort()));
          const hashes = new Set(node.committed.map(({ txHash }) => txHash));
          assert.equal(hashes.size, DEPOSITS - Math.floor(DEPOSITS / 3));
        } finally {
          await Promise.all(bridges.map(kill));
          await node.stop();
        }
      })
    ),
});
