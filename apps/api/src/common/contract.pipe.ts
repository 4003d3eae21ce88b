import { Injectable, type ArgumentMetadata, type PipeTransform } from '@nestjs/common';
import { fieldsOf } from '#contract/request-fields.js';
import { checkedBody, checkedQuery } from './contract-fields.js';

/**
 * Validates handler parameters by their class, and reports the first problem as the contract defines. Parameters
 * without a class that has rules pass unchanged.
 */
@Injectable()
export class ContractPipe implements PipeTransform {
  /** Throws AppError with a code and the invalid field. */
  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    const fields: (new () => object) | undefined = metatype;
    if ((type !== 'body' && type !== 'query') || fields === undefined || fieldsOf(fields).length === 0) return value;
    return type === 'body' ? checkedBody(fields, value) : checkedQuery(fields, value);
  }
}
