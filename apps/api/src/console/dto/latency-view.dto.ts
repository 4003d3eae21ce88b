import { ApiProperty } from '@nestjs/swagger';
import { MAX_MEASURED, type LatencySplit, type Percentiles } from '#tasks/row/latency.sql.js';

class PercentilesView {
  @ApiProperty({ type: 'integer', nullable: true, description: 'Median, in milliseconds; null without tasks.' })
  p50_ms!: number | null;

  @ApiProperty({ type: 'integer', nullable: true })
  p95_ms!: number | null;
}

/** Where the time of completed tasks went, from acceptance to completion. */
export class LatencyView {
  @ApiProperty({
    type: 'integer',
    description: `Number of tasks measured: the newest ${MAX_MEASURED.toLocaleString('en')} at most.`,
  })
  tasks!: number;

  @ApiProperty({ type: PercentilesView })
  total!: PercentilesView;

  @ApiProperty({ type: PercentilesView, description: 'Before the first provider call, and between calls.' })
  waiting!: PercentilesView;

  @ApiProperty({ type: PercentilesView, description: 'In provider calls, until the provider had answered.' })
  provider!: PercentilesView;

  @ApiProperty({ type: PercentilesView, description: 'From the answer of the provider until the images were stored.' })
  saving!: PercentilesView;
}

/** Where the time of tasks went, in whole ms. */
export function latencyView({ tasks, ...parts }: LatencySplit): LatencyView {
  const { total, waiting, provider, saving } = parts;
  return {
    tasks,
    total: percentilesView(total),
    waiting: percentilesView(waiting),
    provider: percentilesView(provider),
    saving: percentilesView(saving),
  };
}

function percentilesView({ p50, p95 }: Percentiles): PercentilesView {
  return { p50_ms: p50 === null ? null : Math.round(p50), p95_ms: p95 === null ? null : Math.round(p95) };
}
