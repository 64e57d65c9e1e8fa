/** A solver with a key from a keystore that the program made. */
import assert from "node:assert/strict";
import { runProgram } from "../support/process.ts";
import { kill, startServiceProcess } from "../support/killed_process.ts";
import { post } from "../support/http_answers.ts";
import { CHAIN_ID, quoteRequest } from "../solver/support.ts";
import { hashQuote } from "../../lib/protocol/hashes.ts";
import { quoteSchema } from "../../lib/protocol/quote.ts";
import { recoverAddress } from "viem/utils";
import { withFolder } from "../support/files.ts";

const name =
  "solver --keystore: signs quotes with a key of key new; a wrong password is one clear line";

// A keystore is slow to open on purpose.
Deno.test(name, { timeout: 180_000 }, () =>
  withFolder(async (directory) => {
    const path = (name: string) => `${directory}/${name}`;
    await Deno.writeTextFile(path("password"), "correct horse\n");
    await Deno.writeTextFile(path("wrong"), "battery staple\n");
    const keyOf = (keystore: string, password: string) => [
      ...["--keystore", path(keystore)],
      ...["--keystore-password-file", path(password)],
    ];
    const made = await runProgram(["key", "new", ...keyOf("solver.json", "password")]);
    const address = made.stdout.trim();
    assert.match(address, /^0x[0-9a-fA-F]{40}$/);
    const { crypto } = JSON.parse(await Deno.readTextFile(path("solver.json")));
    assert.deepEqual([crypto.kdf, crypto.kdfparams.n], ["scrypt", 262_144]);

    const solver = ["solver", "--port", "0", "--database", ":memory:", "--dry-run"];
    const args = [...solver, "--rpc-url", "http://127.0.0.1:9", "--ws-url", "ws://127.0.0.1:9"];
    const started = await startServiceProcess({
      args: [...args, ...keyOf("solver.json", "password")],
      env: {},
    });
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

    const { code, stderr } = await runProgram([...args, ...keyOf("solver.json", "wrong")]);
    assert.equal(code, 1);
    assert(stderr.includes("solver.json does not open: the password is wrong"), stderr);
    assert.equal(stderr.trim().split("\n").length, 1, stderr);
  }));
