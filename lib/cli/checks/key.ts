import { DEV_ACCOUNTS } from "../../protocol/dev_accounts.ts";
import { RangemakerError } from "../../errors.ts";
import type { Address } from "../../protocol/scalars.ts";
import { KeystoreError } from "../keystore.ts";
import type { OptionSpec } from "../options.ts";
import { type Check, fail, ok, optionLabel, warn } from "./check.ts";

/** Has the key that a service signs with; throws where there is none. */
export type KeySource = () => Promise<{ address: Address }>;

/** The key that a service signs with is its own: shown by its address, never itself. */
export function keyCheck(signer: KeySource, option: OptionSpec): Check {
  return {
    subject: "key",
    async run() {
      let address: Address;
      try {
        ({ address } = await signer());
      } catch (thrown) {
        if (!(thrown instanceof RangemakerError)) throw thrown;
        const remedy = thrown instanceof KeystoreError
          ? "Mend the keystore, or the file with its password"
          : `Give one key: ${optionLabel(option)}, or --keystore with --keystore-password-file`;
        return fail(thrown.message, remedy);
      }
      const known = Object.entries(DEV_ACCOUNTS).find(([, account]) => account.address === address);
      if (known === undefined) return ok(`Signs as ${address}`);
      return warn(
        `Signs as ${address}, the ${known[0]} of the development accounts: everybody has its key`,
        "Give a key of your own where anything is of value",
      );
    },
  };
}
