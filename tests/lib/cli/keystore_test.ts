import assert from "node:assert/strict";
import { Wallet } from "ethers";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";
import { LocalSigner } from "../../../lib/protocol/signature.ts";
import { keyKind } from "../../../lib/cli/key_options.ts";
import {
  KeystoreError,
  openLocalSigner,
  openTransactionSigner,
} from "../../../lib/cli/keystore.ts";
import { UsageError } from "../../../lib/cli/options.ts";
import { options as bridgeOptions } from "../../../services/bridge/options.ts";
import { withFolder } from "../../support/files.ts";

const { privateKey: key, address } = DEV_ACCOUNTS.relayer;
const privateKey = new LocalSigner(key);
const table = {
  privateKey: {
    flags: "--private-key",
    kind: keyKind,
    env: "BRIDGE_PRIVATE_KEY",
    description: "",
  },
};

Deno.test("openLocalSigner: opens a keystore written by ethers; errors name the file and show no secret", () =>
  withFolder(async (directory) => {
    const wallet = new Wallet(key);
    const scrypt = { N: 1 << 10, r: 8, p: 1 };
    const { encryptKeystoreJson } = await import("ethers");
    const text = await encryptKeystoreJson(wallet, "correct horse", { scrypt });
    const keystore = `${directory}/relayer.json`;
    const keystorePasswordFile = `${directory}/password`;
    const source = { privateKey: undefined, keystore, keystorePasswordFile };
    const fails = (message: RegExp) =>
      assert.rejects(() => openLocalSigner(source, table), (thrown) => {
        assert.ok(thrown instanceof KeystoreError);
        assert.equal(thrown.cause, undefined);
        assert.match(thrown.message, message);
        return !thrown.message.includes("wrung");
      });
    await Deno.writeTextFile(keystore, text);
    await Deno.writeTextFile(keystorePasswordFile, "correct horse\n");
    assert.equal((await openLocalSigner(source, table)).address, address);

    await Deno.writeTextFile(keystorePasswordFile, "wrung");
    await fails(/relayer\.json does not open: the password is wrong$/);
    await Deno.writeTextFile(keystorePasswordFile, "\n");
    await fails(/password is empty/);
    await Deno.writeTextFile(keystorePasswordFile, "correct horse\n");
    for (const other of ["{}", "nonsense", text.replace('"version":3', '"version":1')]) {
      await Deno.writeTextFile(keystore, other);
      await fails(/^File \S+relayer\.json is not a keystore: expected JSON of version 3$/);
    }
    await Deno.writeTextFile(keystore, text.replace('"scrypt"', '"other"'));
    await fails(/its encryption is not one of version 3$/);
    await Deno.remove(keystore);
    await fails(/^File \S+relayer\.json cannot be read: it does not exist$/);
    await Deno.mkdir(keystore);
    await fails(/cannot be read: Is a directory/);
  }));

Deno.test("openLocalSigner: a key given by mistake as the password file is not shown in the error", async () => {
  const source = { privateKey: undefined, keystore: "none.json", keystorePasswordFile: key };
  await assert.rejects(
    () => openLocalSigner(source, table),
    /^KeystoreError: File … cannot be read: it does not exist$/,
  );
});

Deno.test({
  name: "openLocalSigner: the error of an unreadable file says which permission to add",
  permissions: { read: ["data"] },
  async fn() {
    const keystore = "/etc/hostname";
    await assert.rejects(
      () =>
        openLocalSigner({ privateKey: undefined, keystore, keystorePasswordFile: keystore }, table),
      /hostname cannot be read: this process may not read it; start .* by its task, or add --allow-read$/,
    );
  },
});

Deno.test("openLocalSigner: requires exactly one key", async () => {
  const none = { privateKey: undefined };
  assert.equal(await openLocalSigner({ privateKey }, table), privateKey);
  await assert.rejects(() => openLocalSigner(none, table), {
    name: UsageError.name,
    message: "Missing key: give --private-key or BRIDGE_PRIVATE_KEY, or --keystore",
  });
  await assert.rejects(() => openTransactionSigner(none, bridgeOptions), {
    message: "Missing key: give --private-key or BRIDGE_PRIVATE_KEY, --signer-url, or --keystore",
  });
  await assert.rejects(
    () => openLocalSigner({ privateKey, keystore: "k" }, table),
    /^UsageError: Two keys/,
  );
  await assert.rejects(
    () => openLocalSigner({ ...none, keystore: "k" }, table),
    /keystore-password-file/,
  );
});
