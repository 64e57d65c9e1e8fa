import * as z from "zod/mini";
import { described } from "./scalars.ts";
import { toWire } from "../json.ts";

/** A member of an EIP-712 struct. */
interface TypedField {
  readonly name: string;
  readonly type: string;
}

/**
 * One flat EIP-712 struct. The names contain a colon, which wallet libraries do not resolve inside
 * other structs, so no struct here refers to another.
 */
export interface FlatType {
  readonly primaryType: string;
  readonly fields: readonly TypedField[];
  /** Such as `Core:Deposit(address user,uint256 amount)`. */
  readonly typeString: string;
}

/** The answer of `GET /typed-data` (spec: deposit bridge, "Typed-data description"). */
export const typedDataSchema = described(
  z.object({
    domain: z.object({
      name: z.string(),
      version: z.string(),
      chainId: z.int().check(z.positive()),
    }),
    types: z.record(z.string(), z.array(z.object({ name: z.string(), type: z.string() }))),
    primaryType: z.string(),
  }),
  {
    id: "TypedData",
    description: "EIP-712 typed data without its message",
  },
);

/** Everything a wallet needs to sign a message of a type, except the message. */
type TypedDataDescription = z.output<typeof typedDataSchema>;

/** The type of {@link signingDomain}; some wallets want it among the types of a message. */
export const DOMAIN_TYPE: FlatType = parseFlatType(
  "EIP712Domain(string name,string version,uint256 chainId)",
);

/** The EIP-712 domain of every signature; there is no verifying contract. */
export function signingDomain(chainId: number): { name: string; version: string; chainId: number } {
  return { name: "Core", version: "1", chainId };
}

/** The description of a type in the shape of the bridge's `GET /typed-data`. */
export function typedDataDescriptionOf(type: FlatType, chainId: number): TypedDataDescription {
  return {
    domain: signingDomain(chainId),
    types: { [type.primaryType]: type.fields.map((field) => ({ ...field })) },
    primaryType: type.primaryType,
  };
}

/** The data that a wallet signs: `types` has `EIP712Domain`, integers are decimal strings. */
export type TypedData = TypedDataDescription & { message: Record<string, unknown> };

/** The typed data of a message, in the form that every wallet and signer accepts. */
export function typedDataOf(
  type: FlatType,
  chainId: number,
  message: Readonly<Record<string, unknown>>,
): TypedData {
  const description = typedDataDescriptionOf(type, chainId);
  const domainFields = DOMAIN_TYPE.fields.map((field) => ({ ...field }));
  const fields = Object.entries(toWire(message));
  return {
    ...description,
    types: { [DOMAIN_TYPE.primaryType]: domainFields, ...description.types },
    message: Object.fromEntries(
      fields.map(([name, value]) => [name, typeof value === "number" ? `${value}` : value]),
    ),
  };
}

/** Parses a type string such as `Core:Deposit(address user,uint256 amount)`. */
export function parseFlatType(typeString: string): FlatType {
  const [primaryType = "", members = ""] = typeString.slice(0, -1).split("(");
  const fields = members.split(",").map((member) => {
    const [type = "", name = ""] = member.split(" ");
    return { name, type };
  });
  return { primaryType, fields, typeString };
}
