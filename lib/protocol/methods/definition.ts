import type * as z from "zod/mini";

/**
 * One JSON-RPC method of the node, and the only place that defines it: the node's dispatcher, its
 * OpenRPC document, the client and the proxy's routing follow from it.
 */
export interface MethodDefinition {
  /** One line for the OpenRPC document. */
  readonly summary: string;
  /** By name, in the order in which callers send them; none if it is missing. */
  readonly params?: z.core.$ZodObject;
  readonly result: z.core.$ZodType;
  /**
   * `write` changes the chain: a read port refuses it, and the proxy sends it to the write node.
   * `subscription` needs a connection that stays open. All others only read.
   */
  readonly access?: "write" | "subscription";
  /** Checks signatures or reads much: the node runs one such call at a time. */
  readonly isCostly?: true;
  /** Its answer may have hundreds of kilobytes. */
  readonly hasLargeAnswer?: true;
}

/** Methods by name. */
export type MethodTable = Readonly<Record<string, MethodDefinition>>;

/** The parameters of a method, by name, as its handler gets them. */
export type ParamsOf<M extends MethodDefinition> = M extends
  { params: infer P extends z.core.$ZodType } ? z.output<P>
  : Record<never, never>;

/** The parameters of a method, by name, as JSON carries them. */
export type ParamsWire<M extends MethodDefinition> = M extends
  { params: infer P extends z.core.$ZodType } ? z.input<P>
  : Record<never, never>;
