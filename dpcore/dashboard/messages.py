"""A filter for messages between a page and its server: only those that pages of dpcore need.

Streamlit would do more for anyone who asks: tell which files of a checkout are new, empty the
caches of all sessions, install files beside the script. Its menu does not offer this here, but a
visitor could send the message. Streamlit also tells every page the path of its script.
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
    """Return whether a page of the dashboard needs to send this message.

    Bytes that are no message count as needed: Streamlit closes the connection for them.
    """
    with suppress(DecodeError):
        message = BackMsg.FromString(raw)
        kinds = {message.WhichOneof("type"), message.backend_operation_request.WhichOneof("payload")}
        return bool(kinds & NEEDED)
    return True


def hide_private_paths(raw: bytes) -> bytes:
    """Return a server's message to a page, with the script's name in place of its path.

    A page that asks where to upload a file gets an error if the session has no room. Otherwise it
    would show only a number when the file is refused.
    """
    if b"app.py" not in raw and b"/_stcore/upload_file/" not in raw:
        return raw
    message = ForwardMsg.FromString(raw)
    kind, urls = message.WhichOneof("type"), message.file_urls_response.file_urls
    if kind == "new_session":
        message.new_session.main_script_path = Path(message.new_session.main_script_path).name
    elif urls and housekeeping.upload_room(urls[0].upload_url.split("/")[-2]) < housekeeping.max_upload_bytes():
        message.file_urls_response.error_msg = FULL
    else:
        return raw
    return bytes(message.SerializeToString())
