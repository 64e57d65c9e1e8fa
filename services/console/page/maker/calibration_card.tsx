import type { Metrics } from "../data/metrics.ts";
import { calibrationOf } from "./calibration.ts";

const percent = (share: number) => `${(share * 100).toFixed(1)} %`;

/** Whether the price stays in the box as often as the solver's model says. */
export function Calibration({ metrics }: { metrics: Metrics }) {
  const rows = calibrationOf(metrics);
  return (
    <section class="card" aria-label="Calibration">
      <div class="row">
        <h2>Predicted against held</h2>
        <span class="note">bets settled since the solver started</span>
      </div>
      {rows.length === 0
        ? (
          <p class="note">
            None yet. Pricing that says no probability, such as mock, is not compared.
          </p>
        )
        : (
          <>
            <div class="scroller" tabIndex={0} role="region" aria-label="Table of predictions">
              <table>
                <thead>
                  <tr>
                    <th scope="col">Quoted probability</th>
                    <th scope="col" class="number">Bets</th>
                    <th scope="col" class="number">Predicted, mean</th>
                    <th scope="col" class="number">Held</th>
                    <th scope="col" class="number">Bets held</th>
                  </tr>
                </thead>
                <tbody>
                  {rows.map(({ range, settled, held, predicted }) => (
                    <tr key={range} data-predicted={range}>
                      <th scope="row">{range}</th>
                      <td class="number">{settled}</td>
                      <td class="number">{percent(predicted)}</td>
                      <td class="number">{percent(held / settled)}</td>
                      <td class="number">{held}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
            <p class="note">
              With few bets, both differ by chance alone. With many, held below predicted means that
              payouts are too small, and above that users know more than the model.
            </p>
          </>
        )}
    </section>
  );
}
