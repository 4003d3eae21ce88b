import { IsString } from 'class-validator';
import { Setting, Within } from '#config/setting.js';

/** Where metrics are served; never on the port of the API. */
export class MetricsConfig {
  @Setting('METRICS_PORT', 'Port of /metrics, which no other port serves; 0 = no metrics.')
  @Within(0, 65_535)
  readonly metricsPort: number = 0;

  @Setting(
    'METRICS_HOST',
    'Address /metrics listens on. It has no authentication: open it to the scraper’s network only.',
  )
  @IsString()
  readonly metricsHost: string = '127.0.0.1';
}
