/** Reads a key from an encrypted JSON keystore, so that it need not be on a command line. */
import { bytesToHex } from "viem/utils";
import { messageOf, RangemakerError } from "../errors.ts";
import { Signer } from "../protocol/signature.ts";
import { redact } from "../redact.ts";
import { UsageError } from "./options.ts";

/** Options that give a service its key: either the key or a keystore. */
export interface KeyOptions {
  privateKey?: Signer | undefined;
  keystore?: string | undefined;
  keystorePasswordFile?: string | undefined;
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
 * @param label Name of the option for the key, for the error message.
 * @throws {UsageError} If there are no keys or two.
 * @throws {KeystoreError} If the keystore or its password cannot be read.
 */
export async function signerFrom(options: KeyOptions, label: string): Promise<Signer> {
  const { privateKey, keystore, keystorePasswordFile } = options;
  if (keystore === undefined) {
    if (privateKey !== undefined) return privateKey;
    throw new UsageError(`Missing key: give ${label}, or --keystore`);
  }
  if (privateKey !== undefined) {
    throw new UsageError(`Two keys: expected either ${label} or --keystore`);
  }
  if (keystorePasswordFile === undefined) {
    throw new UsageError("Missing --keystore-password-file: expected with --keystore");
  }
  const password = (await readText(keystorePasswordFile)).split(/\r?\n/, 1)[0] ?? "";
  return await unlock(keystore, await readText(keystore), password);
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

async function unlock(path: string, text: string, password: string): Promise<Signer> {
  // Loaded on demand: key derivation is a large library.
  const { Wallet } = await import("@ethereumjs/wallet");
  try {
    const wallet = await Wallet.fromV3(text, password, true);
    return new Signer(bytesToHex(wallet.getPrivateKey()));
  } catch {
    // The cause is left out on purpose: it may quote the file.
    throw new KeystoreError(
      `Keystore ${path} cannot be opened: expected a version 3 keystore and its password`,
    );
  }
}
