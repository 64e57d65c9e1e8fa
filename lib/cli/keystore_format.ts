/**
 * The encryption of keystores, as other wallets write them: version 3 of the Ethereum wallet format.
 * What takes long, the way from a password to a key, is the runtime's own.
 */
import { Buffer } from "node:buffer";
import {
  createCipheriv,
  createDecipheriv,
  pbkdf2,
  randomBytes,
  randomUUID,
  scrypt,
  type ScryptOptions,
  timingSafeEqual,
} from "node:crypto";
import { promisify } from "node:util";
import { z } from "zod";
import { keccak256 } from "../protocol/keccak.ts";
import type { Hex } from "../protocol/scalars.ts";
import { Signer } from "../protocol/signature.ts";

const CIPHER = "aes-128-ctr";

/** With these, one guess at the password takes a second and 256 MiB. */
const NEW_SCRYPT = { n: 2 ** 18, r: 8, p: 1, dklen: 32 };

/** The most memory that a keystore may ask for: four times what a new one needs. */
const MAX_SCRYPT_BYTES = 2 ** 30 + 2 ** 20;

const bytes = z.string().regex(/^([0-9a-f]{2})*$/).transform((digits) =>
  Uint8Array.fromHex(digits)
);
const count = z.int().positive();
/** The cipher takes 16 bytes, the checksum as many. */
const dklen = z.int().min(32);

/** The one cipher of version 3, and its two ways from a password to a key. */
const encryptionSchema = z.object({
  cipher: z.literal(CIPHER),
  cipherparams: z.object({ iv: bytes }),
  ciphertext: bytes,
  mac: bytes,
}).and(z.discriminatedUnion("kdf", [
  z.object({
    kdf: z.literal("scrypt"),
    kdfparams: z.object({ n: count, r: count, p: count, dklen, salt: bytes }),
  }),
  z.object({
    kdf: z.literal("pbkdf2"),
    kdfparams: z.object({ c: count, prf: z.literal("hmac-sha256"), dklen, salt: bytes }),
  }),
]));

const scryptAsync = promisify<string, Uint8Array, number, ScryptOptions, Uint8Array>(scrypt);
const pbkdf2Async = promisify(pbkdf2);

type ScryptParameters = typeof NEW_SCRYPT & { salt: Uint8Array };

function deriveByScrypt(
  password: string,
  { salt, dklen, n, r, p }: ScryptParameters,
): Promise<Uint8Array> {
  return scryptAsync(password, salt, dklen, { N: n, r, p, maxmem: MAX_SCRYPT_BYTES });
}

/** Says whether the derived key is the right one. */
function checksum(derived: Uint8Array, ciphertext: Uint8Array): Uint8Array {
  return keccak256(Buffer.concat([derived.subarray(16, 32), ciphertext]));
}

/**
 * The private key in a keystore.
 *
 * @param crypto The `crypto` member of the keystore, in lower case.
 * @returns Undefined if the password is wrong.
 * @throws {Error} If it is not encrypted as version 3 says. The message may quote the keystore.
 */
export async function decryptKey(crypto: unknown, password: string): Promise<Hex | undefined> {
  const encryption = encryptionSchema.parse(crypto);
  const { kdf, kdfparams } = encryption;
  const derived = kdf === "scrypt"
    ? await deriveByScrypt(password, kdfparams)
    : await pbkdf2Async(password, kdfparams.salt, kdfparams.c, kdfparams.dklen, "sha256");
  const { ciphertext, mac, cipherparams: { iv } } = encryption;
  if (!timingSafeEqual(checksum(derived, ciphertext), mac)) return undefined;
  const decipher = createDecipheriv(CIPHER, derived.subarray(0, 16), iv);
  const key: Hex = `0x${decipher.update(ciphertext, undefined, "hex")}${decipher.final("hex")}`;
  new Signer(key); // Throws if it is no key.
  return key;
}

/** The JSON of a new keystore. */
export async function encryptKey(privateKey: Hex, password: string): Promise<string> {
  const salt = randomBytes(32);
  const iv = randomBytes(16);
  const derived = await deriveByScrypt(password, { ...NEW_SCRYPT, salt });
  const cipher = createCipheriv(CIPHER, derived.subarray(0, 16), iv);
  const key = Uint8Array.fromHex(privateKey.slice(2));
  const ciphertext = Buffer.concat([cipher.update(key), cipher.final()]);
  return JSON.stringify({
    version: 3,
    id: randomUUID(),
    address: new Signer(privateKey).address.slice(2).toLowerCase(),
    crypto: {
      cipher: CIPHER,
      cipherparams: { iv: iv.toString("hex") },
      ciphertext: ciphertext.toString("hex"),
      kdf: "scrypt",
      kdfparams: { ...NEW_SCRYPT, salt: salt.toString("hex") },
      mac: checksum(derived, ciphertext).toHex(),
    },
  });
}
