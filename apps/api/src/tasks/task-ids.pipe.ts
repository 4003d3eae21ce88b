import { Injectable, type PipeTransform } from '@nestjs/common';
import { batchBody } from './batch-body.js';

/** Injects the task ids of a body into a handler. Throws AppError that names the problem. */
@Injectable()
export class TaskIdsPipe implements PipeTransform<unknown, string[]> {
  transform(body: unknown): string[] {
    return batchBody(body);
  }
}
