import { z } from "zod";
import { addressSchema, uint256Schema } from "./scalars.ts";

/** What an account may do beyond betting; `solver` needs no permission of its own. */
export const permissionSchema = z.enum(["relayer", "admin"]);

/** One of the permissions. */
export type Permission = z.output<typeof permissionSchema>;

/** What `core_getAccount` answers: `locked` is what the account has in open theses. */
export const accountSchema = z.object({
  address: addressSchema,
  balance: uint256Schema,
  locked: uint256Schema,
  permissions: z.array(permissionSchema),
});

/** An account; amounts in USDC with 6 decimals. */
export type Account = z.output<typeof accountSchema>;
