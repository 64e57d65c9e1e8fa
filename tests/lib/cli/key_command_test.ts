import assert from "node:assert/strict";
import { encryptKeystoreJsonSync } from "ethers";
import { run } from "../../../lib/cli/key_command.ts";
import { signerFrom } from "../../../lib/cli/keystore.ts";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import { recordedContext } from "../../support/command_context.ts";

/** Runs `key` with what a person answers to its questions. */
async function runKey(args: readonly string[], answers: readonly string[] = []) {
  const { context, printed, errors } = recordedContext();
  const left = [...answers];
  const askSecret = () => Promise.resolve(left.shift() ?? assert.fail("One question too many"));
  const code = await run(args, { ...context, askSecret });
  return { code, printed, errors: errors.join("\n") };
}

async function inFolder(test: (keystore: string, password: string) => Promise<void>) {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/password`, "correct horse\n");
    await test(`${folder}/key.json`, `${folder}/password`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("key new: a new key in a keystore of its owner, with the password from a file", () =>
  inFolder(async (keystore, keystorePasswordFile) => {
    const files = ["--keystore", keystore, "--keystore-password-file", keystorePasswordFile];
    const made = await runKey(["new", ...files]);
    assert.equal(made.code, 0, made.errors);
    assert.equal((await Deno.stat(keystore)).mode! & 0o777, 0o600);
    const signer = await signerFrom({ keystore, keystorePasswordFile }, "");
    assert.deepEqual(made.printed, [signer.address]);

    // Another key never takes the place of the first.
    const text = await Deno.readTextFile(keystore);
    const again = await runKey(["new", ...files]);
    assert.equal(again.code, 1);
    assert.match(again.errors, /^Keystore \S+key\.json cannot be written: it exists, and may hold/);
    assert.equal(await Deno.readTextFile(keystore), text);
  }));

Deno.test("key new, key show: the password from a prompt, asked for twice", () =>
  inFolder(async (keystore) => {
    const differing = await runKey(["new", "--keystore", keystore], ["one", "two"]);
    assert.equal(differing.code, 2);
    assert.match(differing.errors, /^The two passwords differ\. See rangemaker key new --help$/);
    assert.equal((await runKey(["new", "--keystore", keystore], [""])).code, 2);
    const made = await runKey(["new", "--keystore", keystore], ["secret", "secret"]);
    assert.equal(made.code, 0, made.errors);
    const shown = await runKey(["show", "--keystore", keystore], ["secret"]);
    assert.deepEqual(shown.printed, made.printed);
  }));

Deno.test("key show: the address of a key, and the key where it is asked for", () =>
  inFolder(async (keystore, keystorePasswordFile) => {
    // With a password that takes no time to try, unlike that of a new keystore.
    const { address, privateKey } = DEV_ACCOUNTS.relayer;
    const scrypt = { N: 2, r: 1, p: 1 };
    const text = encryptKeystoreJsonSync({ address, privateKey }, "correct horse", { scrypt });
    await Deno.writeTextFile(keystore, text);
    const show = ["show", "--keystore", keystore];
    const files = [...show, "--keystore-password-file", keystorePasswordFile];
    assert.deepEqual((await runKey(files)).printed, [address]);
    assert.deepEqual((await runKey([...files, "--reveal"])).printed, [address, privateKey]);
    assert.deepEqual((await runKey(show, ["correct horse"])).printed, [address]);
    const wrong = await runKey(show, ["battery staple"]);
    assert.equal(wrong.code, 1);
    assert.deepEqual(wrong.printed, []);
    assert.match(wrong.errors, /does not open: the password is wrong$/);
  }));

Deno.test("key: without a subcommand it names them, exit code 2", async () => {
  const { code, errors } = await runKey([]);
  assert.equal(code, 2);
  assert.match(errors, /^Missing command: expected new or show/);
});
