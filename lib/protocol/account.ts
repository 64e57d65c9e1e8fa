import * as z from "zod/mini";
import { addressSchema, described, uint256Schema } from "./scalars.ts";

/** Permissions of an account beyond betting. A solver needs none. */
const permissionSchema = z.enum(["relayer", "admin"]);

export type Permission = z.output<typeof permissionSchema>;

/** Result of `core_getAccount`; `locked` is the amount in open theses. */
export const accountSchema = z.object({
  address: addressSchema,
  balance: uint256Schema,
  locked: uint256Schema,
  permissions: z.array(permissionSchema),
  frozen: described(
    z.optional(z.boolean()),
    "Present and true while the node can store nothing: no account can change",
  ),
});

/** An account; amounts in USDC with 6 decimals. */
export type Account = z.output<typeof accountSchema>;
