import { developmentMethods } from "./development.ts";
import { ethereumMethods } from "./ethereum.ts";
import { readMethods } from "./reads.ts";
import { transactionMethods } from "./transactions.ts";

/** The methods of every node (docs/protocol.md, "JSON-RPC of the core node"). */
export const nodeMethods = { ...transactionMethods, ...readMethods, ...ethereumMethods };

/** All methods that a node may have. */
export const allMethods = { ...nodeMethods, ...developmentMethods };
