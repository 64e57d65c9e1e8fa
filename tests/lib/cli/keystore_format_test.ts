import assert from "node:assert/strict";
import { scryptSync } from "node:crypto";
import { decryptKeystoreJsonSync, encryptKeystoreJsonSync, scryptSync as ofEthers } from "ethers";
import { decryptKey, encryptKey } from "../../../lib/cli/keystore_format.ts";
import { DEV_ACCOUNTS } from "../../../lib/protocol/dev_accounts.ts";

const { privateKey, address } = DEV_ACCOUNTS.relayer;

/** An example of the format's specification; its password is "testpassword". */
const byPbkdf2 = {
  cipher: "aes-128-ctr",
  cipherparams: { iv: "6087dab2f9fdbbfaddc31a909735c1e6" },
  ciphertext: "5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46",
  kdf: "pbkdf2",
  kdfparams: {
    c: 262144,
    dklen: 32,
    prf: "hmac-sha256",
    salt: "ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd",
  },
  mac: "517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2",
};

/** A keystore of another library, whose password is "secret" and takes no time. */
function byScrypt(key: string = privateKey) {
  const scrypt = { N: 4, r: 1, p: 1 };
  const text = encryptKeystoreJsonSync({ address, privateKey: key }, "secret", { scrypt });
  return JSON.parse(text.toLowerCase()).crypto;
}

Deno.test("decryptKey: a key that was encrypted by pbkdf2, or by scrypt", async () => {
  assert.equal(
    await decryptKey(byPbkdf2, "testpassword"),
    "0x7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d",
  );
  assert.equal(await decryptKey(byPbkdf2, "Testpassword"), undefined);
  assert.equal(await decryptKey(byScrypt(), "secret"), privateKey);
  assert.equal(await decryptKey(byScrypt(), "secre"), undefined);
});

Deno.test("decryptKey: any other encryption throws", async () => {
  const crypto = byScrypt();
  const withParameter = (change: object) => ({
    ...crypto,
    kdfparams: { ...crypto.kdfparams, ...change },
  });
  const wrong: Record<string, unknown> = {
    "another cipher": { ...crypto, cipher: "aes-128-cbc" },
    "another function": { ...crypto, kdf: "argon2" },
    "another hash": { ...byPbkdf2, kdfparams: { ...byPbkdf2.kdfparams, prf: "hmac-sha512" } },
    "a checksum that is too short": { ...crypto, mac: crypto.mac.slice(2) },
    "no hex": { ...crypto, ciphertext: `${crypto.ciphertext.slice(1)}x` },
    "no power of two": withParameter({ n: 5 }),
    "no rounds": withParameter({ n: 0 }),
    "a key that is too short": withParameter({ dklen: 31 }),
    "more memory than 1 GiB": withParameter({ n: 2 ** 21, r: 8 }),
    "something that is no key": byScrypt(`0x${"00".repeat(32)}`),
    nothing: undefined,
  };
  for (const [name, keystore] of Object.entries(wrong)) {
    await assert.rejects(decryptKey(keystore, "secret"), Error, name);
  }
});

Deno.test("encryptKey: another library opens the keystore, whose password costs a second to guess", async () => {
  // The same function, but not in script, where it takes a second.
  ofEthers.register((password, salt, N, r, p, length) =>
    `0x${scryptSync(password, salt, length, { N, r, p, maxmem: 2 ** 30 }).toString("hex")}`
  );
  const [one, other] = await Promise.all([
    encryptKey(privateKey, "correct horse"),
    encryptKey(privateKey, "correct horse"),
  ]);
  const opened = decryptKeystoreJsonSync(one, "correct horse");
  assert.equal(opened.privateKey, privateKey);
  assert.equal(opened.address, address);
  const { id, crypto } = JSON.parse(one);
  assert.equal(crypto.kdfparams.n * crypto.kdfparams.r * 128, 2 ** 28);
  const second = JSON.parse(other);
  assert.notEqual(id, second.id);
  assert.notEqual(crypto.kdfparams.salt, second.crypto.kdfparams.salt);
  assert.notEqual(crypto.cipherparams.iv, second.crypto.cipherparams.iv);
});
