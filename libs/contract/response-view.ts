import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

/** Body of POST /v1/responses in the OpenAPI document: all other fields are passed on. */
export class ResponseBody {
  @ApiProperty({ example: 'gpt-5.5', description: 'ID of a chat model from GET /v1/models.' })
  model!: string;

  @ApiPropertyOptional({
    oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'object', additionalProperties: true } }],
    nullable: true,
    description: 'Text, or a list of items such as messages and outputs of tools.',
    example: 'What is a darkroom?',
  })
  input?: string | object[] | null;

  @ApiPropertyOptional({ type: Boolean, nullable: true, description: 'Respond with server-sent events.' })
  stream?: boolean | null;
}

/** Token usage of a response; images count as tokens too. */
class ResponseUsageView {
  @ApiProperty({ type: 'integer' })
  input_tokens!: number;

  @ApiProperty({ type: 'integer' })
  output_tokens!: number;

  @ApiProperty({ type: 'integer' })
  total_tokens!: number;
}

/** The provider's response; other fields are passed on. */
export class ResponseView {
  @ApiProperty({ example: 'resp_1' })
  id!: string;

  @ApiProperty({ enum: ['response'] })
  object!: 'response';

  @ApiProperty({ example: 'completed' })
  status!: string;

  @ApiProperty({ example: 'gpt-5.5' })
  model!: string;

  @ApiProperty({ type: 'array', items: { type: 'object', additionalProperties: true } })
  output!: object[];

  @ApiPropertyOptional({
    type: ResponseUsageView,
    nullable: true,
    description: 'Null or absent if the provider reports none.',
  })
  usage?: ResponseUsageView | null;
}
