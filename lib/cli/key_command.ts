/** `rangemaker key`: makes and reads encrypted keystores. */
import { generatePrivateKey } from "viem/accounts";
import { Signer } from "../protocol/signature.ts";
import { command, type CommandContext, ExitCode } from "./command.ts";
import { createKeystore, KEYSTORE_COST, openKeystore, readPassword } from "./keystore.ts";
import * as kinds from "./option_kinds.ts";
import { type OptionTable, UsageError } from "./options.ts";
import { keystoreOptions } from "./shared_options.ts";

const { keystorePasswordFile } = keystoreOptions;

const newOptions = {
  keystore: {
    flags: "--keystore",
    kind: kinds.outputFile,
    required: true,
    description: "file to create, readable by its owner only",
  },
  keystorePasswordFile: {
    ...keystorePasswordFile,
    description: "file whose first line is the password; asked for by default",
  },
} satisfies OptionTable;

const newKey = (cost: number) =>
  command({
    name: "key new",
    description: "Makes a new private key, writes it into an encrypted keystore (version 3 JSON) " +
      "and prints its address.",
    options: newOptions,
    examples: [
      ["rangemaker key new --keystore solver.json", "asks for a password, twice"],
      [
        "rangemaker key new --keystore solver.json --keystore-password-file password",
        "with the password from a file",
      ],
    ],
    async run({ keystore, keystorePasswordFile }, context) {
      const password = keystorePasswordFile === undefined
        ? await askNewPassword(context)
        : await readPassword(keystorePasswordFile);
      const privateKey = generatePrivateKey();
      await createKeystore(keystore, privateKey, password, cost);
      context.print(new Signer(privateKey).address);
      return ExitCode.ok;
    },
  });

async function askNewPassword({ askSecret }: CommandContext): Promise<string> {
  const password = await askSecret("Password of the new keystore: ");
  if (password === "") throw new UsageError("No password was given");
  if (await askSecret("The same again: ") === password) return password;
  throw new UsageError("The two passwords differ");
}

const showOptions = {
  keystore: { ...keystoreOptions.keystore, required: true },
  keystorePasswordFile: newOptions.keystorePasswordFile,
  reveal: {
    flags: "--reveal",
    kind: kinds.flag,
    description: "print the private key too",
    default: "false",
  },
} satisfies OptionTable;

const showKey = command({
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
  async run({ keystore, keystorePasswordFile, reveal }, context) {
    const password = keystorePasswordFile === undefined
      ? await context.askSecret("Password of the keystore: ")
      : await readPassword(keystorePasswordFile);
    const privateKey = await openKeystore(keystore, password);
    context.print(new Signer(privateKey).address);
    if (reveal) context.print(privateKey);
    return ExitCode.ok;
  },
});

/** The `key` command. @param cost Of new keystores: {@link KEYSTORE_COST}, unless a test saves time. */
export const keyCommand = (cost: number) =>
  command({
    name: "key",
    description:
      "Makes and reads encrypted keystores, which solver and bridge take with --keystore.",
    options: {},
    subcommands: {
      new: {
        summary: "a new key in a new keystore",
        open: () => Promise.resolve({ run: newKey(cost) }),
      },
      show: {
        summary: "the address of a keystore's key",
        open: () => Promise.resolve({ run: showKey }),
      },
    },
    examples: [
      ["rangemaker key new --keystore solver.json", "a new key"],
      ["rangemaker key show --keystore solver.json", "its address"],
    ],
    run: () => Promise.reject(new UsageError("Missing command: expected new or show")),
  });

/** The `key` command. */
export const run = keyCommand(KEYSTORE_COST);
