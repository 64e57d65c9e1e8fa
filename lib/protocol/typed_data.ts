import type { Hex } from "viem";
import { stringToBytes } from "viem/utils";
import { z } from "zod";
import { keccak256 } from "./keccak.ts";
import { encodeStruct, WORD_BYTES } from "./struct_encoding.ts";

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
  /** Hash of the type string: the first word of every struct of the type. */
  readonly typeHash: Uint8Array;
}

/** What `GET /typed-data` answers (spec: deposit bridge, "Typed-data description"). */
export const typedDataSchema = z.object({
  domain: z.object({
    name: z.string(),
    version: z.string(),
    chainId: z.number().int().positive(),
  }),
  types: z.record(z.string(), z.array(z.object({ name: z.string(), type: z.string() }))),
  primaryType: z.string(),
}).meta({ id: "TypedData", description: "EIP-712 typed data without its message" });

/** What a wallet needs to sign a message of a type, except the message. */
export type TypedDataDescription = z.output<typeof typedDataSchema>;

/** The EIP-712 domain of every signature; there is no verifying contract. */
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

const DOMAIN_TYPE = flatType("EIP712Domain(string name,string version,uint256 chainId)");

/** The domain hash is the same for every message of a chain, so the last one is cached. */
let newestDomain: { chainId: number; separator: Uint8Array } | undefined;

function domainSeparator(chainId: number): Uint8Array {
  if (newestDomain?.chainId === chainId) return newestDomain.separator;
  const domain = { ...signingDomain(chainId), chainId: BigInt(chainId) };
  const separator = hashStruct(DOMAIN_TYPE, domain);
  newestDomain = { chainId, separator };
  return separator;
}

function hashStruct(type: FlatType, message: Record<string, unknown>): Uint8Array {
  return keccak256(encodeStruct(type.typeHash, type.fields, message));
}

/**
 * The EIP-712 digest of a message of a flat type.
 *
 * @throws {TypeError} If a field is missing or does not fit its type.
 */
export function hashFlat(type: FlatType, chainId: number, message: Record<string, unknown>): Hex {
  const preimage = new Uint8Array(2 + 2 * WORD_BYTES);
  preimage.set([0x19, 0x01]);
  preimage.set(domainSeparator(chainId), 2);
  preimage.set(hashStruct(type, message), 2 + WORD_BYTES);
  return `0x${keccak256(preimage).toHex()}`;
}

/** Parses a type string such as `Core:Deposit(address user,uint256 amount)`. */
export function flatType(typeString: string): FlatType {
  const [primaryType, members] = typeString.slice(0, -1).split("(") as [string, string];
  const fields = members.split(",").map((member) => {
    const [type, name] = member.split(" ") as [string, string];
    return { name, type };
  });
  return { primaryType, fields, typeHash: keccak256(stringToBytes(typeString)) };
}
