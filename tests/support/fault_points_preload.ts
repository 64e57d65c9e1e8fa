/**
 * Loaded before a program that is to be killed. It prints each fault point to standard error, and
 * blocks at the one that FAULT_POINT names: then only a signal ends the process.
 */
import { IntentStore } from "../../lib/intents/store.ts";
import { ReservationTable } from "../../lib/intents/reservation_table.ts";
import { ServiceRecords } from "../../lib/intents/service_records.ts";
import { CoreClient } from "../../lib/net/core_client.ts";
import { CoreReader } from "../../lib/net/core_reader.ts";
import { SimulatedHedge } from "../../services/solver/execution/hedge.ts";
import { addFaultPoints } from "./fault_points.ts";

const last = Deno.env.get("FAULT_POINT");

function pass(point: string): void {
  console.error(`Fault point ${point}`);
  if (point === last) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

addFaultPoints("store", [IntentStore, ServiceRecords], pass);
addFaultPoints("reservations", [ReservationTable], pass);
addFaultPoints("node", [CoreClient, CoreReader], pass);
addFaultPoints("hedge", [SimulatedHedge], pass);
