import assert from "node:assert/strict";
import { z } from "zod";
import { externalHashOf } from "../../lib/protocol/hashes.ts";
import { assertFailure, post } from "../support/http_answers.ts";
import { CHAIN_ID, relayer, signedRequest, user, withBridge } from "./support.ts";

async function get(url: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(url);
  return {
    status: response.status,
    body: z.record(z.string(), z.unknown()).parse(await response.json()),
  };
}

Deno.test("Deposits: a committed deposit is shown with the hash of its transaction", () =>
  withBridge(async ({ url }) => {
    const request = signedRequest();
    const { body: { txHash } } = await post(`${url}/deposit`, request);
    const { status, body } = await get(`${url}/deposits/${user.address.toLowerCase()}/1`);
    assert.equal(status, 200);
    const { createdAt, updatedAt, ...deposit } = body.deposit as Record<string, unknown>;
    assert.ok(Number(createdAt) <= Number(updatedAt) && Number(updatedAt) <= Date.now());
    assert.deepEqual(deposit, {
      user: user.address,
      amount: request.amount,
      nonce: "1",
      deadline: request.deadline,
      state: "committed",
      txHash,
      externalTxHash: externalHashOf(
        { user: user.address, amount: 25_000_000n, nonce: 1n },
        CHAIN_ID,
      ),
    });
  }));

Deno.test("Deposits: a failed deposit is shown with its reason, a deposit without an answer as submitted", () =>
  withBridge(async ({ url }, node) => {
    node.refusal = "PERMISSION_DENIED";
    await post(`${url}/deposit`, signedRequest());
    const failed = (await get(`${url}/deposits/${user.address}/1`)).body.deposit;
    assert.deepEqual((failed as Record<string, unknown>).reason, {
      code: "PERMISSION_DENIED",
      message: "Refused by the test: do as it says",
    });
    // After the bridge has seen that it is the right chain: otherwise it refuses at once.
    node.loseTransactions({ paused: true });
    await assertFailure(post(`${url}/deposit`, signedRequest({ nonce: 2n })), 504, "unknown");
    const waiting = (await get(`${url}/deposits/${user.address}/2`)).body.deposit;
    assert.equal((waiting as Record<string, unknown>).state, "submitted");
  }));

Deno.test("Deposits: a user's deposits come newest first, in pages without gaps", () =>
  withBridge(async ({ url }) => {
    for (let nonce = 0n; nonce < 5n; nonce += 1n) {
      await post(`${url}/deposit`, signedRequest({ nonce }));
    }
    const nonces: string[] = [];
    let cursor: unknown = "";
    for (let page = 0; cursor !== null; page += 1) {
      assert.ok(page < 4, "the pages come to an end");
      const query = cursor === "" ? "?limit=2" : `?limit=2&cursor=${cursor}`;
      const { body } = await get(`${url}/deposits/${user.address}${query}`);
      for (const { nonce } of body.deposits as { nonce: string }[]) nonces.push(nonce);
      cursor = body.nextCursor;
    }
    assert.deepEqual(nonces, ["4", "3", "2", "1", "0"]);
    assert.deepEqual((await get(`${url}/deposits/${relayer.address}`)).body, {
      success: true,
      deposits: [],
      nextCursor: null,
    });
  }));
