/** Keys from an encrypted JSON keystore, so that none need stand on a command line. */
import { bytesToHex } from "viem/utils";
import { z } from "zod";
import { messageOf, RangemakerError } from "../errors.ts";
import { Signer } from "../protocol/signature.ts";
import { redact } from "../redact.ts";
import { type OptionTable, UsageError } from "./options.ts";

/** The keystore options of a service that signs. */
export const keystoreOptions = {
  keystore: {
    flags: "--keystore <file>",
    description:
      "encrypted JSON keystore (version 3) to take the key from; the task reads data/ alone",
    schema: z.string().min(1).optional(),
  },
  keystorePasswordFile: {
    flags: "--keystore-password-file <file>",
    description: "file whose first line is the password of the keystore",
    schema: z.string().min(1).optional(),
  },
} satisfies OptionTable;

/** Where a service has its key from: one of the two. */
export interface KeySource {
  privateKey: Signer | undefined;
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
 * @param flags How the options for the key are called, for the message.
 * @throws {UsageError} If there is no key, or two.
 * @throws {KeystoreError} If the keystore or its password cannot be read.
 */
export async function signerFrom(source: KeySource, flags: string): Promise<Signer> {
  const { privateKey, keystore, keystorePasswordFile } = source;
  if (keystore === undefined) {
    if (privateKey !== undefined) return privateKey;
    throw new UsageError(`Missing key: give ${flags}, or --keystore`);
  }
  if (privateKey !== undefined) {
    throw new UsageError(`Two keys: expected either ${flags} or --keystore`);
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
    throw new KeystoreError(`File ${path} cannot be read: ${whyClosed(thrown)}`);
  }
}

function whyClosed(thrown: unknown): string {
  if (thrown instanceof Deno.errors.NotFound) return "there is none";
  if (thrown instanceof Deno.errors.NotCapable) {
    return "this process may not; started by its task, it reads the folder data alone";
  }
  return messageOf(thrown);
}

async function unlock(path: string, text: string, password: string): Promise<Signer> {
  // Loaded only where it is used: key derivation is a library of its own.
  const { Wallet } = await import("@ethereumjs/wallet");
  try {
    const wallet = await Wallet.fromV3(text, password, true);
    return new Signer(bytesToHex(wallet.getPrivateKey()));
  } catch {
    // The cause is left out on purpose: it may quote what the file holds.
    throw new KeystoreError(
      `Keystore ${path} cannot be opened: expected a version 3 keystore and its password`,
    );
  }
}
