import { ApiProperty } from '@nestjs/swagger';

/** What a one-time link is for, shown before it is used. */
export class OpenLinkView {
  @ApiProperty({ type: String, nullable: true, description: 'Whom it is for; null = whoever holds it.' })
  email!: string | null;

  @ApiProperty({ description: 'Name of the account that it opens.' })
  account!: string;
}
