import { Injectable, type ArgumentMetadata, type PipeTransform } from '@nestjs/common';
import { fieldsOf } from '#contract/request-fields.js';
import { checkedBody, checkedQuery } from './contract-fields.js';

/**
 * Checks what handlers take by the class of their parameter, and tells the first thing wrong in the contract's words.
 * What has no class with rules is left as it came.
 */
@Injectable()
export class ContractPipe implements PipeTransform {
  /** Throws AppError with a code and the field at fault. */
  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    const fields: (new () => object) | undefined = metatype;
    if ((type !== 'body' && type !== 'query') || fields === undefined || fieldsOf(fields).length === 0) return value;
    return type === 'body' ? checkedBody(fields, value) : checkedQuery(fields, value);
  }
}
