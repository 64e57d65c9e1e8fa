import assert from "node:assert/strict";
import { Wallet } from "ethers";
import { keyCommand } from "../../../lib/cli/key_command.ts";
import { openLocalSigner } from "../../../lib/cli/keystore.ts";
import { options as bridgeOptions } from "../../../services/bridge/options.ts";
import { recordedContext } from "../../support/command_context.ts";
import { withFolder } from "../../support/files.ts";

/**
 * A keystore of full cost takes a second; under coverage ten. tests/e2e/command_line_test.ts makes
 * one.
 */
const run = keyCommand(1_024);

/** Runs `key` with a person's answers to its prompts. */
async function runKey(args: readonly string[], answers: readonly string[] = [], input = "") {
  const { context, printed, errors } = recordedContext();
  const left = [...answers];
  const askSecret = () => Promise.resolve(left.shift() ?? assert.fail("One question too many"));
  const code = await run(args, { ...context, askSecret, readSecret: () => Promise.resolve(input) });
  return { code, printed, errors: errors.join("\n") };
}

function inFolder(test: (keystore: string, password: string) => Promise<void>): Promise<void> {
  return withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/password`, "correct horse\n");
    await test(`${folder}/key.json`, `${folder}/password`);
  });
}

Deno.test("key new, key show: makes a key in a private keystore file, with the password from a file", () =>
  inFolder(async (keystore, keystorePasswordFile) => {
    const files = ["--keystore", keystore, "--keystore-password-file", keystorePasswordFile];
    const made = await runKey(["new", ...files]);
    assert.equal(made.code, 0, made.errors);
    assert.equal((await Deno.stat(keystore)).mode! & 0o777, 0o600);
    const signer = await openLocalSigner({ keystore, keystorePasswordFile }, bridgeOptions);
    assert.deepEqual(made.printed, [signer.address]);

    assert.deepEqual((await runKey(["show", ...files])).printed, [signer.address]);
    const [address, key = ""] = (await runKey(["show", ...files, "--reveal"])).printed;
    assert.equal(address, signer.address);
    assert.equal(new Wallet(key).address, signer.address);

    // Another key never replaces the first.
    const text = await Deno.readTextFile(keystore);
    const again = await runKey(["new", ...files]);
    assert.equal(again.code, 1);
    assert.match(again.errors, /^Keystore \S+key\.json cannot be written: it exists, and may hold/);
    assert.equal(await Deno.readTextFile(keystore), text);
  }));

Deno.test("key new: makes a missing password file, but not if the keystore exists", () =>
  withFolder(async (folder) => {
    const [keystore, keystorePasswordFile] = [`${folder}/key.json`, `${folder}/key.password`];
    const files = ["--keystore", keystore, "--keystore-password-file", keystorePasswordFile];
    const made = await runKey(["new", ...files]);
    assert.equal(made.code, 0, made.errors);
    assert.equal((await Deno.stat(keystorePasswordFile)).mode! & 0o777, 0o600);
    assert.match(await Deno.readTextFile(keystorePasswordFile), /^[0-9a-f]{64}\n$/);
    assert.deepEqual((await runKey(["show", ...files])).printed, made.printed);

    await Deno.remove(keystorePasswordFile);
    const again = await runKey(["new", ...files]);
    assert.equal(again.code, 1);
    assert.match(again.errors, /it exists, and may hold a key$/);
    await assert.rejects(Deno.stat(keystorePasswordFile), Deno.errors.NotFound);
  }));

Deno.test("key new, key show: the password can be typed at a prompt, twice for a new key", () =>
  inFolder(async (keystore) => {
    const differing = await runKey(["new", "--keystore", keystore], ["one", "two"]);
    assert.equal(differing.code, 2);
    assert.match(differing.errors, /^The two passwords differ\. See rangemaker key new --help$/);
    assert.equal((await runKey(["new", "--keystore", keystore], [""])).code, 2);
    const made = await runKey(["new", "--keystore", keystore], ["secret", "secret"]);
    assert.equal(made.code, 0, made.errors);
    const shown = await runKey(["show", "--keystore", keystore], ["secret"]);
    assert.deepEqual(shown.printed, made.printed);
    const wrong = await runKey(["show", "--keystore", keystore], ["secrets"]);
    assert.equal(wrong.code, 1);
    assert.match(wrong.errors, /does not open: the password is wrong$/);
  }));

Deno.test("key: without a subcommand, lists the subcommands, exit code 2", async () => {
  const { code, errors } = await runKey([]);
  assert.equal(code, 2);
  assert.match(errors, /^Missing command: expected new, import, passwd or show/);
});

const KEY = `0x${"5e".repeat(32)}`;

Deno.test("key import: writes the key from standard input into a private keystore file", () =>
  inFolder(async (keystore, keystorePasswordFile) => {
    const files = ["--keystore", keystore, "--keystore-password-file", keystorePasswordFile];
    const { code, printed, errors } = await runKey(["import", ...files], [], `${KEY}\n`);
    assert.equal(code, 0, errors);
    assert.deepEqual(printed, [new Wallet(KEY).address]);
    assert.equal((await Deno.stat(keystore)).mode! & 0o777, 0o600);
    assert.equal((await runKey(["show", ...files, "--reveal"])).printed[1], KEY);
  }));

Deno.test("key import: invalid input is refused without being shown, and no file is written", () =>
  inFolder(async (keystore) => {
    for (const input of ["", KEY.slice(0, -1), KEY.slice(2), `0x${"f".repeat(64)}`]) {
      const { code, errors } = await runKey(["import", "--keystore", keystore], [], input);
      assert.equal(code, 2);
      assert.match(errors, /^Invalid private key: (Expected 0x and 64|Not a private key)/);
      assert(input === "" || !errors.includes(input.slice(2, 40)), errors);
    }
    await assert.rejects(Deno.stat(keystore), Deno.errors.NotFound);
  }));

Deno.test("key passwd: writes a new keystore with the new password, and keeps the old one", () =>
  inFolder(async (keystore, keystorePasswordFile) => {
    const old = ["--keystore", keystore, "--keystore-password-file", keystorePasswordFile];
    await runKey(["import", ...old], [], KEY);
    const output = `${keystore}.new`;
    const changed = await runKey(["passwd", ...old, "--output", output], ["other", "other"]);
    assert.equal(changed.code, 0, changed.errors);
    const show = ["show", "--reveal", "--keystore"];
    assert.equal((await runKey([...show, output], ["other"])).printed[1], KEY);
    assert.equal((await runKey([...show, output], ["correct horse"])).code, 1);
    assert.equal((await runKey([...show, keystore], ["correct horse"])).printed[1], KEY);
    const again = await runKey(["passwd", ...old, "--output", output], ["x", "x"]);
    assert.match(again.errors, /cannot be written: it exists/);
  }));
