import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

/** One message of a chat; its other fields are OpenAI's. */
export class ChatMessageView {
  @ApiProperty({ example: 'user' })
  role!: string;

  @ApiPropertyOptional({
    oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'object', additionalProperties: true } }],
    nullable: true,
    description: 'Text, or a list of parts such as text and images.',
  })
  content?: string | object[] | null;
}

/** Body of POST /v1/chat/completions in the OpenAPI document: all other fields are passed on. */
export class ChatCompletionBody {
  @ApiProperty({ example: 'gpt-5.5', description: 'ID of a chat or image model from GET /v1/models.' })
  model!: string;

  @ApiProperty({
    type: [ChatMessageView],
    minItems: 1,
    description: 'With an image model, the last user message is the prompt, and its images are the reference images.',
    example: [{ role: 'user', content: 'What is a darkroom?' }],
  })
  messages!: ChatMessageView[];

  @ApiPropertyOptional({ type: Boolean, nullable: true, description: 'Respond with server-sent events.' })
  stream?: boolean | null;

  @ApiPropertyOptional({
    type: String,
    nullable: true,
    example: '1024x1024',
    description:
      'With an image model, as in an image request. The same applies to resolution, quality, background, moderation, output_format, ' +
      'output_compression, user, safety_identifier, and strict.',
  })
  size?: string | null;

  @ApiPropertyOptional({
    type: 'object',
    nullable: true,
    additionalProperties: true,
    example: { aspect_ratio: '16:9', image_size: '1K' },
    description:
      "With an image model: image options in OpenRouter's format; `aspect_ratio` corresponds to `size`, `image_size` to `resolution`.",
  })
  image_config?: object | null;
}

class ChatImageUrlView {
  @ApiProperty({ format: 'uri', description: 'Works without authorization until it expires.' })
  url!: string;
}

class ChatImageView {
  @ApiProperty({ enum: ['image_url'] })
  type!: 'image_url';

  @ApiProperty()
  image_url!: ChatImageUrlView;

  @ApiProperty({ type: 'integer' })
  index!: number;
}

/** The response's message; its other fields are the provider's. */
class ChatAnswerMessageView {
  @ApiProperty({ example: 'assistant' })
  role!: string;

  @ApiPropertyOptional({ type: String, nullable: true, example: 'A room.' })
  content?: string | null;

  @ApiPropertyOptional({
    type: [ChatImageView],
    description: 'With an image model: the image linked in `content`.',
  })
  images?: ChatImageView[];
}

class ChatChoiceView {
  @ApiProperty({ type: 'integer' })
  index!: number;

  @ApiProperty()
  message!: ChatAnswerMessageView;

  @ApiProperty({ type: String, nullable: true, example: 'stop' })
  finish_reason!: string | null;
}

/** Token usage of a chat; images count as tokens too. */
class ChatUsageView {
  @ApiProperty({ type: 'integer' })
  prompt_tokens!: number;

  @ApiProperty({ type: 'integer' })
  completion_tokens!: number;

  @ApiProperty({ type: 'integer' })
  total_tokens!: number;
}

/** The provider's response; other fields are passed on. */
export class ChatCompletionView {
  @ApiProperty({ example: 'chatcmpl-1' })
  id!: string;

  @ApiProperty({ enum: ['chat.completion'] })
  object!: 'chat.completion';

  @ApiProperty({ type: 'integer', description: 'Unix seconds.' })
  created!: number;

  @ApiProperty({ example: 'gpt-5.5' })
  model!: string;

  @ApiProperty({ type: [ChatChoiceView] })
  choices!: ChatChoiceView[];

  @ApiPropertyOptional({ type: ChatUsageView, description: 'Absent if the provider reports none.' })
  usage?: ChatUsageView;
}
