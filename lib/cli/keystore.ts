/** Keys in encrypted JSON keystores (version 3), so that they need not be on a command line. */
import { z } from "zod";
import { messageOf, RangemakerError } from "../errors.ts";
import { tryParseJson } from "../json.ts";
import { WRONG_PASSWORD } from "../library_messages.ts";
import { RemoteSigner, type SignerMethod } from "../net/remote_signer.ts";
import type { Address, Hex } from "../protocol/scalars.ts";
import { LocalSigner } from "../protocol/signature.ts";
import type { TransactionSigner } from "../protocol/transaction.ts";
import { redact } from "../redact.ts";
import { optionLabel, type OptionSpec, UsageError } from "./options.ts";

/** Options that give a service its key: either the key or a keystore. */
export interface KeyOptions {
  privateKey?: LocalSigner | undefined;
  keystore?: string | undefined;
  keystorePasswordFile?: string | undefined;
}

/** The rows of a service's options that errors about its key name. */
interface KeyTable {
  privateKey: OptionSpec;
  /** Only of a service that accepts a remote signer. */
  signerUrl?: OptionSpec;
}

/** The keystore cannot be opened. Its message names files, never a password or a key. */
export class KeystoreError extends RangemakerError {
  constructor(message: string) {
    super("KEYSTORE", redact(message));
  }
}

/**
 * The signer of a service.
 *
 * @throws {UsageError} Without a key, or with both a key and a keystore.
 * @throws {KeystoreError} If the keystore or its password cannot be read.
 */
export async function openLocalSigner(
  { privateKey, keystore, keystorePasswordFile }: KeyOptions,
  table: KeyTable,
): Promise<LocalSigner> {
  const label = optionLabel(table.privateKey) + (table.signerUrl ? ", --signer-url" : "");
  if (keystore === undefined) {
    if (privateKey !== undefined) return privateKey;
    throw new UsageError(`Missing key: give ${label}, or --keystore`);
  }
  if (privateKey !== undefined) {
    throw new UsageError(`Two keys: expected ${label}, or --keystore, not both`);
  }
  if (keystorePasswordFile === undefined) {
    throw new UsageError("Missing --keystore-password-file: expected with --keystore");
  }
  const password = await readPassword(keystorePasswordFile);
  return new LocalSigner(await openKeystore(keystore, password));
}

/** Options that give a service a local key or a remote signer. */
export interface RemoteKeyOptions extends KeyOptions {
  signerUrl?: string | undefined;
  signerAddress?: Address | undefined;
  signerMethod?: SignerMethod | undefined;
}

/**
 * Opens the signer of a service's transactions: a local key or a remote signer.
 *
 * @throws {UsageError} Without a key or signer, or with several.
 * @throws {KeystoreError} Like {@link openLocalSigner}.
 */
export async function openTransactionSigner(
  options: RemoteKeyOptions,
  table: KeyTable,
): Promise<TransactionSigner> {
  const { signerUrl: url, signerAddress: address, signerMethod, ...key } = options;
  if (url === undefined) return await openLocalSigner(key, table);
  if (address === undefined) {
    throw new UsageError("Missing --signer-address: expected with --signer-url");
  }
  if (key.privateKey !== undefined || key.keystore !== undefined) {
    const label = optionLabel(table.privateKey);
    throw new UsageError(`Two keys: expected ${label}, --keystore or --signer-url, not several`);
  }
  return new RemoteSigner({ url, address, method: signerMethod ?? "eth_signTypedData" });
}

/** The first line of a password file. @throws {KeystoreError} If it cannot be read or is empty. */
export async function readPassword(path: string): Promise<string> {
  const password = (await readText(path)).split(/\r?\n/, 1)[0] ?? "";
  if (password !== "") return password;
  throw new KeystoreError(
    `Password file ${path} is empty: expected the password on its first line`,
  );
}

/**
 * Reads a password file. If it is missing, one is created, random and readable by its owner only.
 *
 * @throws {KeystoreError} If the file cannot be read or written, or is empty.
 */
export async function ensurePassword(path: string): Promise<string> {
  const made = crypto.getRandomValues(new Uint8Array(32)).toHex();
  try {
    await Deno.writeTextFile(path, `${made}\n`, { createNew: true, mode: 0o600 });
  } catch (thrown) {
    if (thrown instanceof Deno.errors.AlreadyExists) return await readPassword(path);
    throw new KeystoreError(`Password file ${path} cannot be written: ${messageOf(thrown)}`);
  }
  return made;
}

async function readText(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (thrown) {
    throw new KeystoreError(`File ${path} cannot be read: ${whyUnreadable(thrown)}`);
  }
}

function whyUnreadable(thrown: unknown): string {
  if (thrown instanceof Deno.errors.NotFound) return "it does not exist";
  if (thrown instanceof Deno.errors.NotCapable) {
    return "this process may not read it; start the service by its task, or add --allow-read";
  }
  return messageOf(thrown);
}

/** The least that a keystore file must have; the library checks the rest. */
const keystoreSchema = z.object({
  version: z.literal(3),
  crypto: z.object({ mac: z.string(), ciphertext: z.string(), kdf: z.string() }),
});

/**
 * The private key in a keystore.
 *
 * @throws {KeystoreError} If the file is not a keystore, or the password is wrong.
 */
export async function openKeystore(path: string, password: string): Promise<Hex> {
  // Some writers use `Crypto` and upper-case hex; nothing in a keystore depends on case.
  const text = (await readText(path)).toLowerCase();
  if (!keystoreSchema.safeParse(tryParseJson(text)).success) {
    throw new KeystoreError(`File ${path} is not a keystore: expected JSON of version 3`);
  }
  // Loaded on demand: key derivation is a large library.
  const { Wallet } = await import("@ethereumjs/wallet");
  try {
    return `0x${(await Wallet.fromV3(text, password)).getPrivateKey().toHex()}`;
  } catch (thrown) {
    // The cause is left out on purpose: its message may quote the file.
    const isWrongPassword = WRONG_PASSWORD.test(messageOf(thrown));
    throw new KeystoreError(
      isWrongPassword
        ? `Keystore ${path} does not open: the password is wrong`
        : `Keystore ${path} does not open: its encryption is not one of version 3`,
    );
  }
}

/** Cost of one guess of the password, about a second: `n` of scrypt, as keystores usually have. */
export const KEYSTORE_COST = 262_144;

/** @throws {KeystoreError} If something exists at the path. */
export async function requireNoKeystore(path: string): Promise<void> {
  try {
    await Deno.lstat(path);
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotFound) return;
    throw writeError(path, messageOf(thrown));
  }
  throw writeError(path, KEYSTORE_EXISTS);
}

const KEYSTORE_EXISTS = "it exists, and may hold a key";

function writeError(path: string, reason: string): KeystoreError {
  return new KeystoreError(`Keystore ${path} cannot be written: ${reason}`);
}

/**
 * Writes a key into a new keystore that only its owner may read.
 *
 * @throws {KeystoreError} If the file exists or cannot be written.
 */
export async function createKeystore(
  path: string,
  privateKey: Hex,
  password: string,
  cost: number,
): Promise<void> {
  const { Wallet } = await import("@ethereumjs/wallet");
  const wallet = Wallet.fromPrivateKey(Uint8Array.fromHex(privateKey.slice(2)));
  const text = await wallet.toV3String(password, { n: cost });
  try {
    await Deno.writeTextFile(path, `${text}\n`, { createNew: true, mode: 0o600 });
  } catch (thrown) {
    const isTaken = thrown instanceof Deno.errors.AlreadyExists;
    throw writeError(path, isTaken ? KEYSTORE_EXISTS : messageOf(thrown));
  }
}
