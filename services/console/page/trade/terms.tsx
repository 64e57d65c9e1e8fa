import { Fact } from "../fact.tsx";
import { formatAmount, formatCents, formatUsdc } from "../format.ts";
import { breakEvenOf, chanceText, multiplierOf, type Priced } from "./odds.ts";

interface TermsProps {
  /** The maker's estimate or quote; undefined for none. */
  offered: Priced | undefined;
  /** By how much the payout may change during signing, in percent; 0 once it is signed. */
  tolerancePercent: number;
  /** Shown once it is no longer in a field. */
  betAmount?: bigint;
}

/** The least payout that a change of the odds may leave: a bet never pays less than its stake. */
function leastOf({ payout, betAmount }: Priced, tolerancePercent: number): bigint {
  const least = payout * BigInt(100 - tolerancePercent) / 100n;
  return least > betAmount ? least : betAmount;
}

/** What a bet pays and its chance, at the same place before and while it is signed. */
export function Terms({ offered, tolerancePercent, betAmount }: TermsProps) {
  const { probability } = offered ?? {};
  return (
    <dl class="terms" id="terms">
      <Fact label="You get">
        <strong
          class={offered && "figure"}
          title={offered && formatUsdc(offered.payout)}
          data-payout={offered?.payout.toString()}
        >
          {offered ? formatCents(offered.payout) : NONE}
        </strong>
        {offered && " "}
        {offered && (
          <span class="note">
            USDC{tolerancePercent > 0 &&
              `, at least ${formatCents(leastOf(offered, tolerancePercent))}`}
          </span>
        )}
      </Fact>
      {betAmount !== undefined && <Fact label="You bet">{formatAmount(betAmount)}</Fact>}
      <Fact label="Odds">{offered ? multiplierOf(offered) : NONE}</Fact>
      <Fact label="Chance">{probability === undefined ? NONE : chanceText(probability)}</Fact>
      <Fact label="Break-even">{offered ? breakEvenOf(offered) : NONE}</Fact>
    </dl>
  );
}

/** Nothing to speak. */
const NONE = <span aria-hidden="true">–</span>;
