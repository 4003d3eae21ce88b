import { IsIn } from 'class-validator';
import { Setting } from '#config/setting.js';
import type { LogLevel } from './logger.js';

/** What is logged. */
export class TelemetryConfig {
  @Setting('LOG_LEVEL', 'Least severe level that is logged: debug, info, warn, error or silent.')
  @IsIn(['debug', 'info', 'warn', 'error', 'silent'])
  readonly logLevel: LogLevel = 'info';
}
