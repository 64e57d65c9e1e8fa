import assert from "node:assert/strict";
import { faultPointsAt, withFaultPoints } from "../../lib/fault_points.ts";

class Port {
  readonly #secret = 1;
  readonly name = "port";

  read(): number {
    return this.#secret;
  }

  async write(value: number): Promise<number> {
    await Promise.resolve();
    if (value < 0) throw new Error("negative");
    return value + this.#secret;
  }
}

Deno.test("withFaultPoints: every call of every method passes a place before and after it", async () => {
  const places: string[] = [];
  const port = withFaultPoints("port", new Port(), (place) => places.push(place));
  assert.equal(port.name, "port");
  assert.equal(port.read(), 1);
  const written = port.write(1);
  assert.deepEqual(places, ["port.read:before", "port.read:after", "port.write:before"]);
  assert.equal(await written, 2);
  await assert.rejects(() => port.write(-1), /negative/);
  assert.deepEqual(places.slice(3), [
    "port.write:after",
    "port.write:before",
    "port.write:after",
  ]);
});

Deno.test("withFaultPoints: without fault points the port is handed back untouched", () => {
  const port = new Port();
  assert.equal(faultPointsAt(undefined), undefined);
  assert.equal(withFaultPoints("port", port), port);
});
