import { hashTypedData, type Hex, type TypedDataDomain } from "viem";

/** A member of an EIP-712 struct. */
export interface TypedField {
  readonly name: string;
  readonly type: string;
}

/**
 * One flat EIP-712 struct. The names carry a colon, which wallet libraries do not resolve inside
 * other structs, so no struct here refers to another.
 */
export interface FlatType {
  readonly primaryType: string;
  readonly fields: readonly TypedField[];
}

/** What `GET /typed-data` answers: all a wallet needs to sign. */
export interface TypedDataDescription {
  domain: { name: string; version: string; chainId: number };
  types: Record<string, TypedField[]>;
  primaryType: string;
}

/** The domain every signature is made in; there is no verifying contract. */
export function signingDomain(chainId: number): { name: string; version: string; chainId: number } {
  return { name: "Core", version: "1", chainId };
}

/** The description of a type in the shape of the bridge's `GET /typed-data`. */
export function describeTypedData(type: FlatType, chainId: number): TypedDataDescription {
  return {
    domain: signingDomain(chainId),
    types: { [type.primaryType]: type.fields.map((field) => ({ ...field })) },
    primaryType: type.primaryType,
  };
}

/** The EIP-712 digest of a message of a flat type. */
export function hashFlat(type: FlatType, chainId: number, message: Record<string, unknown>): Hex {
  const domain: TypedDataDomain = signingDomain(chainId);
  return hashTypedData({
    domain,
    types: { [type.primaryType]: type.fields },
    primaryType: type.primaryType,
    message,
  });
}

/** Reads a type string such as `Core:Deposit(address user,uint256 amount)`. */
export function flatType(typeString: string): FlatType {
  const [primaryType, members] = typeString.slice(0, -1).split("(") as [string, string];
  const fields = members.split(",").map((member) => {
    const [type, name] = member.split(" ") as [string, string];
    return { name, type };
  });
  return { primaryType, fields };
}
