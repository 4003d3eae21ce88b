import { Injectable, type PipeTransform } from '@nestjs/common';
import { batchBody } from './batch-body.js';

/** Hands a handler the ids of tasks that a body asks for. Throws AppError naming what is wrong with it. */
@Injectable()
export class TaskIdsPipe implements PipeTransform<unknown, string[]> {
  transform(body: unknown): string[] {
    return batchBody(body);
  }
}
