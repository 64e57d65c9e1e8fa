/** `rangemaker key`: makes and reads encrypted keystores. */
import { generatePrivateKey } from "viem/accounts";
import type { Hex } from "../protocol/scalars.ts";
import { LocalSigner } from "../protocol/signature.ts";
import { type CommandContext, createCommand, ExitCode, loadedEntry } from "./command.ts";
import {
  createKeystore,
  ensurePassword,
  KEYSTORE_COST,
  openKeystore,
  readPassword,
  requireNoKeystore,
} from "./keystore.ts";
import * as kinds from "./option_kinds.ts";
import { type OptionsOf, optionTable, UsageError } from "./options.ts";
import { keyKind, keystoreOptions } from "./key_options.ts";

const { keystorePasswordFile } = keystoreOptions;

const newOptions = optionTable({
  keystore: {
    kind: kinds.fileOrNew,
    required: true,
    description: "file to create, readable by its owner only",
  },
  keystorePasswordFile: {
    ...keystorePasswordFile,
    kind: kinds.fileOrNew,
    description: "file whose first line is the password, made if missing; asked for by default",
  },
});

/** Writes a key into a new keystore and prints its address. Fails if the keystore exists. */
async function writeKey(
  privateKey: Hex,
  { keystore, keystorePasswordFile }: OptionsOf<typeof newOptions>,
  context: CommandContext,
  cost: number,
): Promise<number> {
  await requireNoKeystore(keystore);
  const password = keystorePasswordFile === undefined
    ? await askNewPassword(context)
    : await ensurePassword(keystorePasswordFile);
  await createKeystore(keystore, privateKey, password, cost);
  context.print(new LocalSigner(privateKey).address);
  return ExitCode.ok;
}

const createNewCommand = (cost: number) =>
  createCommand({
    name: "key new",
    description: "Makes a new private key, writes it into an encrypted keystore (version 3 JSON) " +
      "and prints its address.",
    options: newOptions,
    examples: [
      ["rangemaker key new --keystore solver.json", "asks for a password, twice"],
      [
        "rangemaker key new --keystore solver.json --keystore-password-file password",
        "with a password in a file, which is made if there is none",
      ],
    ],
    run: (options, context) => writeKey(generatePrivateKey(), options, context, cost),
  });

const createImportCommand = (cost: number) =>
  createCommand({
    name: "key import",
    description: "Reads an existing private key from standard input, writes it into an encrypted " +
      "keystore and prints its address. On a terminal it asks, and does not show the key.",
    options: newOptions,
    examples: [
      ["rangemaker key import --keystore relayer.json", "asks for the key and a new password"],
      [
        "rangemaker key import --keystore relayer.json --keystore-password-file password",
        "with the password from a file; add < key.txt for the key",
      ],
    ],
    async run(options, context) {
      const text = (await context.readSecret("Private key: ")).trim();
      // The schema's error does not repeat the key.
      const parsed = keyKind.schema.safeParse(text);
      if (!parsed.success) {
        throw new UsageError(`Invalid private key: ${parsed.error.issues[0]?.message}`);
      }
      return await writeKey(text as Hex, options, context, cost); // the schema checked the form
    },
  });

const passwordOptions = optionTable({
  keystore: { ...keystoreOptions.keystore, required: true },
  keystorePasswordFile: { ...keystorePasswordFile, description: "file with the present password" },
  newPasswordFile: {
    kind: kinds.fileOrNew,
    description: "file whose first line is the new password, made if missing; asked for by default",
  },
  output: {
    kind: kinds.fileOrNew,
    required: true,
    description: "file to create; the old one stays as it is",
  },
});

const changePassword = (cost: number) =>
  createCommand({
    name: "key passwd",
    description: "Writes the key of a keystore into a new keystore with another password. Delete " +
      "the old one when the service runs with the new one.",
    options: passwordOptions,
    examples: [["rangemaker key passwd --keystore old.json --output new.json", "asks for both"]],
    async run({ keystore, keystorePasswordFile, newPasswordFile, output }, context) {
      const privateKey = await unlock({ keystore, keystorePasswordFile }, context);
      const written = { keystore: output, keystorePasswordFile: newPasswordFile };
      return await writeKey(privateKey, written, context, cost);
    },
  });

async function unlock(
  { keystore, keystorePasswordFile }: OptionsOf<typeof newOptions>,
  { askSecret }: CommandContext,
): Promise<Hex> {
  const password = keystorePasswordFile === undefined
    ? await askSecret("Password of the keystore: ")
    : await readPassword(keystorePasswordFile);
  return await openKeystore(keystore, password);
}

async function askNewPassword({ askSecret }: CommandContext): Promise<string> {
  const password = await askSecret("Password of the new keystore: ");
  if (password === "") throw new UsageError("No password was given");
  if (await askSecret("The same again: ") === password) return password;
  throw new UsageError("The two passwords differ");
}

const showOptions = optionTable({
  keystore: { ...keystoreOptions.keystore, required: true },
  keystorePasswordFile: {
    ...keystorePasswordFile,
    description: "file whose first line is the password; asked for by default",
  },
  reveal: {
    kind: kinds.flag,
    description: "print the private key too",
    default: "false",
  },
});

const showKey = createCommand({
  name: "key show",
  description: "Opens an encrypted keystore and prints the address of its key.",
  options: showOptions,
  examples: [
    ["rangemaker key show --keystore solver.json", "asks for the password"],
    [
      "rangemaker key show --keystore solver.json --keystore-password-file password --reveal",
      "the private key too",
    ],
  ],
  async run({ reveal, ...files }, context) {
    const privateKey = await unlock(files, context);
    context.print(new LocalSigner(privateKey).address);
    if (reveal) context.print(privateKey);
    return ExitCode.ok;
  },
});

/** The `key` command. @param cost Of new keystores: {@link KEYSTORE_COST}, less in tests. */
export const keyCommand = (cost: number) =>
  createCommand({
    name: "key",
    description:
      "Makes and reads encrypted keystores, which solver, bridge and backfill take with --keystore.",
    options: {},
    subcommands: {
      new: loadedEntry("a new key in a new keystore", createNewCommand(cost)),
      import: loadedEntry("an existing key in a new keystore", createImportCommand(cost)),
      passwd: loadedEntry(
        "the same key in a new keystore, with another password",
        changePassword(cost),
      ),
      show: loadedEntry("the address of a keystore's key", showKey),
    },
    examples: [
      ["rangemaker key new --keystore solver.json", "a new key"],
      ["rangemaker key show --keystore solver.json", "its address"],
    ],
  });

export const run = keyCommand(KEYSTORE_COST);
