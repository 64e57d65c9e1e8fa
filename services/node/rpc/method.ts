import * as z from "zod";
import { RpcCode, RpcError } from "../../../lib/protocol/jsonrpc.ts";
import type {
  MethodDefinition,
  MethodTable,
  ParamsOf,
} from "../../../lib/protocol/methods/definition.ts";
import { describeInput } from "../../../lib/protocol/describe_input.ts";
import type { ClientSubscriptions } from "./subscriptions.ts";

/** One JSON-RPC method with its handler. */
export interface Method extends MethodDefinition {
  /**
   * @param params As received.
   * @param subscriptions The caller's subscriptions; undefined over HTTP.
   * @returns The result, ready for JSON.
   */
  call(params: unknown, subscriptions: ClientSubscriptions | undefined): unknown;
}

/** What the dispatcher needs of a method. */
export type CallableMethod = Pick<Method, "access" | "isCostly" | "call">;

/** The handler of each method of a table: from parsed parameters to a result, ready for JSON. */
export type Handlers<T extends MethodTable> = {
  [N in keyof T]: (
    params: ParamsOf<T[N]>,
    subscriptions: ClientSubscriptions | undefined,
  ) => z.input<
    T[N]["result"]
  >;
};

const noParams = z.object({});

/** Joins the definitions of methods with their handlers. */
export function bindMethods<T extends MethodTable>(
  table: T,
  handlers: Handlers<T>,
): [name: string, method: Method][] {
  return Object.entries(table).map(([name, definition]) => {
    const { params: schema = noParams } = definition;
    // Each handler gets what its own schema has parsed, which types of a whole table cannot say.
    const run = handlers[name] as (
      params: unknown,
      subscriptions: ClientSubscriptions | undefined,
    ) => unknown;
    const call: Method["call"] = (params, subscriptions) =>
      run(parseParams(schema, params), subscriptions);
    return [name, { ...definition, call }];
  });
}

/** Parses the parameters of a call, by name. @throws {RpcError} If they do not fit. */
function parseParams<S extends z.core.$ZodObject>(schema: S, params: unknown): z.output<S> {
  const names = Object.keys(schema._zod.def.shape);
  const values = params ?? [];
  if (!Array.isArray(values) || values.length > names.length) {
    const expected = names.length === 0 ? "no parameters" : `[${names.join(", ")}]`;
    const received = Array.isArray(values) ? `an array of ${values.length}` : "an object";
    throw invalidParams(`Expected ${expected}: received ${received}`);
  }
  const byName = Object.fromEntries(names.map((name, index) => [name, values[index]]));
  const parsed = z.safeParse(schema, byName);
  if (parsed.success) return parsed.data;
  throw invalidParams(describeInput(parsed.error, byName));
}

/** The parameters of a call do not fit its method. */
export function invalidParams(problem: string): RpcError {
  return new RpcError(RpcCode.invalidParams, `Invalid params: ${problem}`);
}
