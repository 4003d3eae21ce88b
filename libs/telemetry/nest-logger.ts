import type { LoggerService } from '@nestjs/common';
import type { Logger } from './logger.js';

/** Lets the framework speak through our logger; its start-up chatter is debug. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown): void {
    this.logger.debug('framework', { reason: String(message) });
  }

  warn(message: unknown): void {
    this.logger.warn('framework', { reason: String(message) });
  }

  error(message: unknown): void {
    this.logger.error('framework', message instanceof Error ? { error: message } : { reason: String(message) });
  }
}
