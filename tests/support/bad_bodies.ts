/** One wrong request and what the answer must be. */
export interface BadBody {
  name: string;
  body: string;
  status: number;
  /** Must occur in `error`. */
  error: string;
}

/** Kinds of fields, each with values that are none of them. */
const WRONG: Record<FieldKind, unknown[]> = {
  address: [1, null, true, "", "0x", "0x01", "1".repeat(42), `0x${"0".repeat(41)}`, "0xzz", {}, []],
  uint64: [
    1,
    null,
    "",
    "-1",
    "1.5",
    "1e3",
    "0x10",
    " 1",
    "01",
    "18446744073709551616",
    "9".repeat(99),
    [],
  ],
  uint256: [1, null, "", "-1", "1.5", "0x10", (2n ** 256n).toString(), "9".repeat(5000), {}],
  time: ["1", null, -1, 1.5, 1e300, {}, [], true],
  signature: [1, null, "", "0x0", "0xzz", "11", `0x${"11".repeat(2000)}`, {}],
  box: ["range", "", 1, null, {}],
};

/** What a field holds. */
export type FieldKind = "address" | "uint64" | "uint256" | "time" | "signature" | "box";

/**
 * Every way to get one body wrong: not JSON, not an object, and for each field missing, or of another
 * type, form or size. `fields` maps dotted paths to kinds; `optional` ones may be missing.
 */
export function badBodies(
  good: unknown,
  fields: Record<string, FieldKind>,
  optional: readonly string[] = [],
): BadBody[] {
  const bad: BadBody[] = [];
  for (const body of ["", "{", "nope", '{"a":}']) {
    bad.push({ name: `body ${JSON.stringify(body)}`, body, status: 400, error: "INVALID_REQUEST" });
  }
  for (const body of ["null", "1", '"text"', "[]", "true"]) {
    bad.push({ name: `body ${body}`, body, status: 400, error: "INVALID_REQUEST" });
  }
  for (const [path, kind] of Object.entries(fields)) {
    if (!optional.includes(path)) {
      bad.push(invalid(`${path} missing`, withField(good, path, undefined), path));
    }
    for (const value of WRONG[kind]) {
      const name = `${path} = ${JSON.stringify(value)}`.slice(0, 80);
      bad.push(invalid(name, withField(good, path, value), path));
    }
  }
  const padding = "x".repeat(10 * 1024 * 1024);
  bad.push({
    name: "10 MB",
    body: JSON.stringify({ ...Object(good), padding }),
    status: 413,
    error: "BODY_TOO_LARGE",
  });
  return bad;
}

function invalid(name: string, body: unknown, path: string): BadBody {
  return {
    name,
    body: JSON.stringify(body),
    status: 400,
    error: `INVALID_REQUEST: ${path}: `,
  };
}

/** A copy of a JSON value with one field replaced, or removed where `value` is undefined. */
export function withField(source: unknown, path: string, value: unknown): unknown {
  const copy = structuredClone(source);
  const keys = path.split(".");
  const last = keys.pop();
  // The paths are those of the very body handed in.
  let target = copy as Record<string, unknown>;
  for (const key of keys) target = target[key] as Record<string, unknown>;
  target[String(last)] = value;
  return copy;
}
