import { IsString } from 'class-validator';
import { Setting, Within } from '#config/setting.js';

export class MetricsConfig {
  @Setting('METRICS_PORT', 'Port of /metrics, which is served on no other; 0 opens none.')
  @Within(0, 65_535)
  readonly metricsPort: number = 0;

  @Setting('METRICS_HOST', 'Address /metrics listens on. It asks for no key: open it to the scraper’s network only.')
  @IsString()
  readonly metricsHost: string = '127.0.0.1';
}
