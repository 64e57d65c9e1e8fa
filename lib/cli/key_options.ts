/**
 * Options that give a service its key. They stand alone because they load a WebAssembly program,
 * which every other start does without.
 */
import { z } from "zod";
import { SIGNER_METHODS } from "../net/remote_signer.ts";
import { addressSchema } from "../protocol/scalars.ts";
import { LocalSigner } from "../protocol/signature.ts";
import * as kinds from "./option_kinds.ts";
import { optionTable } from "./option_table.ts";

/** A private key as hex. The value is a signer that never reveals it. */
export const keyKind = {
  schema: z.string()
    .regex(/^0x[0-9a-fA-F]{64}$/, "Expected 0x and 64 hex digits")
    .transform((text, context) => {
      try {
        return new LocalSigner(text as `0x${string}`); // the pattern above is what Hex means
      } catch {
        context.addIssue({
          code: "custom",
          message: "Not a private key of secp256k1: out of range",
        });
        return z.NEVER;
      }
    }),
  placeholder: "key",
  secret: true,
} satisfies kinds.OptionKind;

/** The keystore options of a service that signs. */
export const keystoreOptions = optionTable({
  keystore: {
    kind: kinds.file,
    description: "encrypted JSON keystore (version 3) with the key",
  },
  keystorePasswordFile: {
    kind: kinds.file,
    description: "file whose first line is the password of the keystore",
  },
});

/** The options of a remote signer. */
export const remoteSignerOptions = optionTable({
  signerUrl: {
    kind: kinds.serviceUrl,
    description:
      "service that signs typed data over JSON-RPC, such as Web3Signer, in place of a key",
  },
  signerAddress: {
    kind: { schema: addressSchema, placeholder: "address" },
    description: "account that the service signs as",
  },
  signerMethod: {
    kind: kinds.choice(SIGNER_METHODS),
    description:
      "its JSON-RPC method: eth_signTypedData for Web3Signer, account_… for Clef, …_v4 for wallets",
    default: "eth_signTypedData",
  },
});
