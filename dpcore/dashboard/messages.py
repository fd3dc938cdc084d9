"""What passes between a page and its server: what the dashboard's pages ask for, and no path of the computer.

Streamlit would do more for whoever asks: tell which files of a checkout are new, empty the caches
of all sessions, install files beside the script. Its menu does not offer that here, but a visitor
could send it. And it tells every page where on the computer its script lies.
"""

from contextlib import suppress
from pathlib import Path

from google.protobuf.message import DecodeError
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from dpcore.dashboard import housekeeping

NEEDED = {"rerun_script", "stop_script", "file_urls_request", "app_heartbeat", "deferred_file", "dataframe_chunk"}
FULL = "There is no room for another upload. Remove a file that you uploaded here, or try again in a few minutes."


def is_needed(raw: bytes) -> bool:
    """Whether a page needs what it asks for. What is no message is left to Streamlit, which hangs up."""
    with suppress(DecodeError):
        message = BackMsg.FromString(raw)
        kinds = {message.WhichOneof("type"), message.backend_operation_request.WhichOneof("payload")}
        return bool(kinds & NEEDED)
    return True


def answer(raw: bytes) -> bytes:
    """A message to a page: with the script's name in place of its path, and with words where uploads find no room.

    A page that was told where to send a file would show no more than a number if the file is
    refused there.
    """
    if b"app.py" not in raw and b"/_stcore/upload_file/" not in raw:
        return raw
    message = ForwardMsg.FromString(raw)
    kind, urls = message.WhichOneof("type"), message.file_urls_response.file_urls
    if kind == "new_session":
        message.new_session.main_script_path = Path(message.new_session.main_script_path).name
    elif urls and housekeeping.room(urls[0].upload_url.split("/")[-2]) < housekeeping.largest():
        message.file_urls_response.error_msg = FULL
    else:
        return raw
    return bytes(message.SerializeToString())
