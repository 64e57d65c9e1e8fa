/** A solver with a key from a keystore that the program made. */
import assert from "node:assert/strict";
import { recoverAddress } from "viem/utils";
import { hashQuote } from "../../lib/protocol/hashes.ts";
import { quoteSchema } from "../../lib/protocol/quote.ts";
import { runProgram } from "../support/process.ts";
import { kill, startServiceProcess } from "../support/killed_process.ts";
import { post } from "../support/http_answers.ts";
import { CHAIN_ID, quoteRequest } from "../solver/support.ts";
import { withFolder } from "../support/files.ts";

// A keystore is slow to open on purpose.
Deno.test(
  "solver --keystore: signs quotes with a key of key new",
  { timeout: 180_000 },
  () =>
    withFolder(async (directory) => {
      const path = (name: string) => `${directory}/${name}`;
      await Deno.writeTextFile(path("password"), "correct horse\n");
      const key = ["--keystore", path("solver.json"), "--keystore-password-file", path("password")];
      const made = await runProgram(["key", "new", ...key]);
      const address = made.stdout.trim();
      assert.match(address, /^0x[0-9a-fA-F]{40}$/);
      const { crypto } = JSON.parse(await Deno.readTextFile(path("solver.json")));
      assert.deepEqual([crypto.kdf, crypto.kdfparams.n], ["scrypt", 262_144]);

      const solver = ["solver", "--port", "0", "--database", ":memory:", "--dry-run"];
      const urls = ["--rpc-url", "http://127.0.0.1:9", "--ws-url", "ws://127.0.0.1:9"];
      const started = await startServiceProcess({ args: [...solver, ...urls, ...key], env: {} });
      try {
        const { status, body } = await post(`${started.url}/quote`, quoteRequest());
        assert.equal(status, 200);
        const quote = quoteSchema.parse(body.quote);
        assert.equal(quote.solver, address);
        const hash = hashQuote(quote, CHAIN_ID);
        assert.equal(await recoverAddress({ hash, signature: quote.signature }), address);
      } finally {
        await kill(started);
      }
    }),
);
