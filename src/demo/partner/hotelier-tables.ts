/**
 * The hotel group's own tables, as its developers made them: their words, their keys, and columns that contain the ids
 * which the service gave them. `config/demo.yaml` turns them into streams.
 */
export const partnerTables = `
create schema hotelier;

create table hotelier.hotel (
  hotel_id     integer primary key,
  code         text not null unique,
  name         text not null,
  street       text,
  latitude     double precision,
  longitude    double precision,
  country_code text,
  airport_code text,
  hotel_code   text,
  booking_id   text,
  updated_at   timestamptz not null default now()
);

create table hotelier.meter (
  meter_id      smallint primary key,
  name          text not null unique,
  field_type_id uuid not null unique,
  updated_at    timestamptz not null default now()
);

create table hotelier.meter_reading (
  hotel_id   integer not null,
  meter_id   smallint not null,
  year       smallint not null,
  month      smallint check (month between 1 and 12),
  value      numeric not null check (value >= 0),
  updated_at timestamptz not null default now()
);

create table hotelier.sustainability_answer (
  hotel_id      integer not null,
  data_point_id uuid not null,
  framework_id  uuid,
  period_type   text not null,
  year          smallint not null,
  month         smallint,
  value         text not null,
  value_type    text,
  unit_id       uuid,
  updated_at    timestamptz not null default now()
);

create table hotelier.declined_question (
  hotel_id    integer not null,
  question_id uuid not null,
  period_type text not null,
  year        smallint not null,
  month       smallint,
  updated_at  timestamptz not null default now()
);

create table hotelier.certificate (
  hotel_id    integer not null,
  standard_id uuid not null,
  level       text,
  start_date  date not null,
  expiry_date date,
  updated_at  timestamptz not null default now()
);

create table hotelier.attribute (
  attribute_id smallint primary key,
  name         text not null unique,
  property_id  uuid not null unique,
  updated_at   timestamptz not null default now()
);

create table hotelier.hotel_attribute (
  hotel_id     integer not null,
  attribute_id smallint not null,
  value        text not null,
  updated_at   timestamptz not null default now()
);

create table hotelier.calculation_setting (
  hotel_id                     integer not null,
  automatic_yearly_calculation boolean not null,
  automatic_publishing         boolean not null,
  updated_at                   timestamptz not null default now()
);
`

/** Added after the rows, because one pass over loaded rows is several times faster than a look-up per row. */
export const partnerConstraints = `
alter table hotelier.meter_reading
  add unique nulls not distinct (hotel_id, year, month, meter_id),
  add foreign key (hotel_id) references hotelier.hotel,
  add foreign key (meter_id) references hotelier.meter;
alter table hotelier.sustainability_answer
  add unique nulls not distinct (hotel_id, data_point_id, period_type, year, month),
  add foreign key (hotel_id) references hotelier.hotel;
alter table hotelier.declined_question
  add unique nulls not distinct (hotel_id, question_id, period_type, year, month),
  add foreign key (hotel_id) references hotelier.hotel;
alter table hotelier.certificate
  add primary key (hotel_id, standard_id),
  add foreign key (hotel_id) references hotelier.hotel;
alter table hotelier.hotel_attribute
  add primary key (hotel_id, attribute_id),
  add foreign key (hotel_id) references hotelier.hotel,
  add foreign key (attribute_id) references hotelier.attribute;
alter table hotelier.calculation_setting
  add primary key (hotel_id),
  add foreign key (hotel_id) references hotelier.hotel;

create index on hotelier.hotel (updated_at);
create index on hotelier.meter (updated_at);
create index on hotelier.meter_reading (updated_at);
create index on hotelier.sustainability_answer (updated_at);
create index on hotelier.declined_question (updated_at);
create index on hotelier.certificate (updated_at);
create index on hotelier.attribute (updated_at);
create index on hotelier.hotel_attribute (updated_at);
create index on hotelier.calculation_setting (updated_at);

create function hotelier.touch() returns trigger language plpgsql as $$
begin
  new.updated_at := now();
  return new;
end $$;

create trigger touch before update on hotelier.hotel
  for each row when (new.updated_at = old.updated_at) execute function hotelier.touch();
create trigger touch before update on hotelier.meter_reading
  for each row when (new.updated_at = old.updated_at) execute function hotelier.touch();
create trigger touch before update on hotelier.sustainability_answer
  for each row when (new.updated_at = old.updated_at) execute function hotelier.touch();
create trigger touch before update on hotelier.declined_question
  for each row when (new.updated_at = old.updated_at) execute function hotelier.touch();
create trigger touch before update on hotelier.certificate
  for each row when (new.updated_at = old.updated_at) execute function hotelier.touch();
create trigger touch before update on hotelier.hotel_attribute
  for each row when (new.updated_at = old.updated_at) execute function hotelier.touch();
create trigger touch before update on hotelier.calculation_setting
  for each row when (new.updated_at = old.updated_at) execute function hotelier.touch();

analyze hotelier.hotel, hotelier.meter_reading, hotelier.sustainability_answer, hotelier.declined_question,
  hotelier.certificate, hotelier.hotel_attribute, hotelier.calculation_setting;
`
