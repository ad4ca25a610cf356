"""Makes the Parquet and Arrow files the readers are tested on: one table as pandas, polars and
pyarrow write it. Run once; the files are kept so that tests need no Python."""
import datetime
import decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

decimals = [decimal.Decimal(v) for v in ("0.25", "-1.50", "3.00", "4.75")]
table = pa.table({
    "name": ["a", "b", "c", "d"],
    "kind": pa.array(["x", "y", "x", "y"]).dictionary_encode(),
    "whole": pa.array([1, -2, 3, 2**40], pa.int64()),
    "small": pa.array([1, 2, 3, 4], pa.uint8()),
    "single": pa.array([0.5, None, 1.5, -2.0], pa.float32()),
    "flag": [True, False, True, True],
    "price": pa.array(decimals, pa.decimal128(9, 2)),
    "coded": pa.array([7.0, 8.0, 7.0, 8.0]).dictionary_encode(),
    "vector": pa.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]], pa.list_(pa.float32(), 2)),
    "list": pa.array([[10], [20], [30], [40]], pa.list_(pa.int32())),
    "when": pa.array([datetime.datetime(2020, 1, 1)] * 4),
})
for codec in ("snappy", "gzip", "lz4", "zstd", "none"):
    pq.write_table(table, f"pyarrow-{codec}.parquet", compression=codec, row_group_size=3)
feather.write_feather(table, "pyarrow-lz4.feather", compression="lz4")
with pa.ipc.new_stream("pyarrow.arrows", table.schema) as stream:
    stream.write_table(table, max_chunksize=3)
packed = pa.ipc.IpcWriteOptions(compression="zstd")
with pa.ipc.new_stream("pyarrow-zstd.arrows", table.schema, options=packed) as stream:
    stream.write_table(table, max_chunksize=3)
pl.from_arrow(table).write_parquet("polars.parquet")
pl.from_arrow(table).write_ipc("polars.arrow", compression="zstd")
indexed = pd.DataFrame({"u": [1.5, 2.5], "v": [3, 4]}, index=["r", "s"])
indexed.to_parquet("pandas-index.parquet")
