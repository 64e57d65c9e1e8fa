import assert from "node:assert/strict";
import {
  describeTypedData,
  DOMAIN_TYPE,
  flatType,
  typedDataSchema,
} from "../../../lib/protocol/typed_data.ts";

const type = flatType("Core:Pair(address user,uint256 amount)");
const fields = [{ name: "user", type: "address" }, { name: "amount", type: "uint256" }];

Deno.test("flatType: reads names and types from a type string", () => {
  const typeString = "Core:Pair(address user,uint256 amount)";
  assert.deepEqual(type, { primaryType: "Core:Pair", fields, typeString });
  const names = DOMAIN_TYPE.fields.map(({ name }) => name);
  assert.deepEqual([DOMAIN_TYPE.primaryType, ...names], [
    "EIP712Domain",
    "name",
    "version",
    "chainId",
  ]);
});

Deno.test("describeTypedData: a wallet gets domain, types and primary type", () => {
  const description = describeTypedData(type, 5);
  assert.deepEqual(description, {
    domain: { name: "Core", version: "1", chainId: 5 },
    types: { "Core:Pair": fields },
    primaryType: "Core:Pair",
  });
  assert.deepEqual(typedDataSchema.parse(description), description);
  description.types["Core:Pair"]?.forEach((field) => field.name = "changed");
  assert.deepEqual(type.fields, fields, "the description is a copy");
});
